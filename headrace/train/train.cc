#include "headrace/train/train.h"

#include "headrace/train/class_weights.h"
#include "headrace/train/label_classes.h"
#include "headrace/train/train_run.h"

namespace headrace {
namespace {

// A run that is only inspected. It has no output, so the data's location stands in its place.
struct ViewedRun {
  const Actor actor{};
  const OnStep on_step{};
  const OnEpoch on_epoch{};
  TrainRun run;

  ViewedRun(const Location& data, const TrainOptions& options, const TrainEnvironment& environment,
            const std::stop_token& stop)
      : run{data, data, options, environment, actor, on_step, on_epoch, stop} {}
};

}  // namespace

Result<TrainPlan> plan_training(const Location& data, const TrainOptions& options,
                                const TrainEnvironment& environment, const std::stop_token& stop) {
  ViewedRun viewed(data, options, environment, stop);
  TrainRun& run = viewed.run;
  HEADRACE_CHECK(describe_run(run, std::nullopt));
  HEADRACE_TRY(TracedModel model, trace_run(run));
  return TrainPlan{run.configuration, std::move(model), run.validation_range.first, run.intra_op_threads,
                   run.request.labels.empty() ? "" : run.request.labels.front().name};
}

Status check_training_memory(const Location& data, const TrainOptions& options, const ModelBinding& binding,
                             const TrainEnvironment& environment, const std::stop_token& stop) {
  ViewedRun viewed(data, options, environment, stop);
  HEADRACE_CHECK(describe_run(viewed.run, std::nullopt));
  return BatchLoader::check_memory({viewed.run.training_source()},
                                   native_loader_options(viewed.run, binding, ShuffleMode::kWindow));
}

Result<std::vector<std::string>> missing_classes(const Location& data, const TrainOptions& options,
                                                 const TrainEnvironment& environment,
                                                 const std::stop_token& stop) {
  ViewedRun viewed(data, options, environment, stop);
  HEADRACE_CHECK(describe_run(viewed.run, std::nullopt));
  return missing_classes(viewed.run);
}

Result<ReadStrata> read_strata(const Location& data, const std::string& label, const TrainOptions& options,
                               const TrainEnvironment& environment, const std::stop_token& stop) {
  TrainOptions whole = options;
  whole.subset.reset();
  whole.selection.reset();
  ViewedRun viewed(data, whole, environment, stop);
  HEADRACE_CHECK(describe_run(viewed.run, std::nullopt));
  return read_strata(viewed.run, label);
}

Result<TrainResult> train(const Location& data, const Location& run, const TrainOptions& options,
                          const TrainEnvironment& environment, const Actor& actor, const OnStep& on_step,
                          const OnEpoch& on_epoch, const std::stop_token& stop) {
  TrainRun opened{data, run, options, environment, actor, on_step, on_epoch, stop};
  HEADRACE_CHECK(open_run(opened));
  return options.loop == TrainLoop::kKeras ? train_with_keras(opened) : train_natively(opened);
}

}  // namespace headrace
