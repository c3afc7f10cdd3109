#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "headrace/base/text.h"
#include "headrace/store/staging.h"
#include "headrace/stream/loader_state.h"
#include "headrace/track/published_folder.h"
#include "headrace/train/checkpoint.h"
#include "headrace/train/one_pass.h"
#include "headrace/train/step_loop.h"
#include "headrace/train/train_run.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;
using Variables = std::map<std::string, Tensor>;

class NativeLoop {
 public:
  explicit NativeLoop(const TrainRun& run)
      : run_(run), options_(run.options), environment_(run.environment), result_(begin_result(run)) {}

  Result<TrainResult> run() {
    HEADRACE_TRY(const bool was_exported, is_exported(run_, result_));
    if (was_exported) return finished_before();
    HEADRACE_CHECK(open_model());
    environment_.on_binding(result_.model.binding);
    remark_ignored_metrics();
    // Fails before the run begins if data, model or options do not fit.
    if (!run_.seen.is_own) HEADRACE_CHECK(initialize());
    HEADRACE_TRY(owned_, claim_run(run_));
    // From here on, no earlier owner can publish in this run.
    HEADRACE_CHECK(continue_model());
    checkpoints_.emplace(*owned_, environment_.temporary_folder, run_.plan, run_.actor.run);
    HEADRACE_TRY(std::optional<RunState> state, checkpoints_->restore_latest(*model_));
    if (state) {
      state_ = *std::move(state);
      state_.finished = is_finished();  // more epochs may be wanted now
    } else if (run_.seen.is_own) {
      HEADRACE_CHECK(initialize());
    }
    HEADRACE_CHECK(remove_superseded_events(run_, state_.epoch, owned_->entry()));
    events_.emplace(run_, owned_->suffix());
    if (!state_.finished) HEADRACE_CHECK(train_epochs());
    HEADRACE_CHECK(finish());
    return std::move(result_);
  }

 private:
  Result<StepCall> prepare(std::string_view signature) {
    return StepCall::prepare(*model_, signature, result_.model.binding, result_.model.metric_names);
  }

  Result<TrainResult> finished_before() {
    result_.was_finished = true;
    HEADRACE_TRY(const auto trace, find_begun(run_, kModelFolder));
    HEADRACE_TRY(const auto checkpoint, find_begun(run_, kCheckpointsFolder));
    if (!trace || !checkpoint) return folder_is_gone(run_, trace ? kCheckpointsFolder : kModelFolder);
    HEADRACE_TRY(kept_, open_kept_model(run_, *trace));
    result_.model = kept_->model;
    HEADRACE_TRY(state_, read_state(*checkpoint));
    describe_end();
    HEADRACE_CHECK(remove_superseded_events(run_, state_.epoch, run_.seen.chain.entry));
    return std::move(result_);
  }

  // Opens the trace that the run was started with, or makes a new one.
  Status open_model() {
    HEADRACE_TRY(const auto published, find_begun(run_, kModelFolder));
    if (!published) {
      HEADRACE_TRY(result_.model, trace_run(run_));
      return load_model();
    }
    return open_kept(*published);
  }

  Status open_kept(const PublishedFolder& published) {
    HEADRACE_TRY(kept_, open_kept_model(run_, published));
    result_.model = kept_->model;
    return load_model();
  }

  // Uses the trace that the run has kept, even if another process has only just published it.
  Status continue_model() {
    if (kept_) return {};
    HEADRACE_TRY(const auto published, owned_->published(kModelFolder));
    return published ? open_kept(*published) : keep_model(run_, *owned_, result_.model.folder);
  }

  Status load_model() {
    const ModelOptions model_options{.intra_op_threads = run_.intra_op_threads};
    HEADRACE_TRY(model_, environment_.engine.load(result_.model.saved_model_folder, model_options));
    return {};
  }

  Status initialize() {
    if (options_.init_from) {
      const Status restored = restore_initial(options_.init_from->at(kCheckpointsFolder));
      if (!restored) return Error(restored.error()).in("--init-from");
      HEADRACE_CHECK(check_restored_shapes());
    }
    if (!options_.learning_rate) return {};
    if (result_.model.learning_rate.empty()) {
      return Error{Code::kInvalidArgument, concat("--learning-rate: the optimizer of ", options_.model,
                                                  " computes its learning rate by a schedule")};
    }
    HEADRACE_TRY(const std::unique_ptr<Call> call,
                 model_->prepare("set_learning_rate", {"learning_rate"}, {"learning_rate"}));
    const auto rate = static_cast<float>(*options_.learning_rate);
    const TensorView view = TensorView::of(&rate, {});
    Tensor now;
    return call->run({&view, 1}, {&now, 1});
  }

  Status restore_initial(const Location& checkpoints) {
    HEADRACE_TRY(const auto checkpoint, read_published(checkpoints, kCheckpointKind));
    return checkpoint ? restore_checkpoint(*model_, *checkpoint, environment_.temporary_folder) : Status{};
  }

  // TensorFlow itself would restore a variable of any shape.
  Status check_restored_shapes() {
    HEADRACE_TRY(const auto variables, read_variables(*model_));
    for (const TracedVariable& variable : result_.model.variables) {
      const auto found = variables.find(variable.name);
      if (found == variables.end() || variable.shape.accepts(found->second.shape())) continue;
      return Error{Code::kInvalidArgument,
                   concat("--init-from ", options_.init_from->describe(), ": its variable ", variable.name,
                          " has shape ", found->second.shape().text(), ", but that of ", options_.model,
                          " on these data has ", variable.shape.text(),
                          "; give a run with the same model on the same kind of features")};
    }
    return {};
  }

  LoaderOptions loader_options(ShuffleMode shuffle) const {
    return native_loader_options(run_, result_.model.binding, shuffle);
  }

  Status train_epochs() {
    const std::vector<LoaderSource> sources = {run_.training_source()};
    LoaderOptions with = loader_options(ShuffleMode::kWindow);
    if (!state_.loader_state.empty()) {
      HEADRACE_TRY(const LoaderPosition position, parse_loader_state(state_.loader_state, sources, with));
      with.first_epoch = position.epoch;
      with.first_batch = position.batch;
    }
    HEADRACE_TRY(loader_, BatchLoader::create(sources, with));
    HEADRACE_TRY(StepCall step, prepare("train_step"));
    if (options_.curve && state_.epoch == 0) {
      HEADRACE_TRY(StepCall eval_step, prepare("eval_step"));
      one_pass_.emplace(std::move(eval_step), loader_->batches_per_epoch(), total_steps());
    }
    while (!state_.finished) HEADRACE_CHECK(train_epoch(step));
    result_.loader = loader_->stats();
    add_remarks(*loader_);
    return {};
  }

  void remark_ignored_metrics() {
    const std::vector<std::string>& names = result_.model.ignored_metrics;
    if (names.empty()) return;
    add_remark(result_,
               concat("the metrics ", join(names, ", "),
                      " are left out: they cannot be computed in a graph. --loop keras computes them "
                      "while it trains"));
  }

  void add_remarks(const BatchLoader& loader) {
    for (const std::string& remark : loader.remarks()) add_remark(result_, remark);
  }

  Result<std::optional<Batch>> next_batch(BatchLoader& loader) const {
    auto batch = loader.next();
    if (batch) return batch;
    return with_train_advice(std::move(batch).error(), environment_.is_run_temporary);
  }

  Error not_finite(std::string_view what, std::uint64_t epoch, std::uint64_t step) const {
    return diverged(what, epoch, step, environment_.is_run_temporary);
  }

  std::uint64_t total_steps() const {
    const std::uint64_t all = options_.epochs * loader_->batches_per_epoch();
    return options_.steps == 0 ? all : std::min(all, options_.steps);
  }

  Status train_epoch(StepCall& step) {
    const std::uint64_t epoch = state_.epoch + 1;
    events_->begin(epoch);
    HEADRACE_CHECK(step.begin_pass());
    std::uint64_t batch_number = 0;
    std::uint64_t corrupt_records = 0;
    EpochSeconds spent;
    const auto start = Clock::now();
    while (batch_number < loader_->batches_per_epoch() && state_.step < total_steps()) {
      if (run_.stop.stop_requested())
        return Error{Code::kCancelled, concat("training was stopped in epoch ", epoch)};
      const auto asked = Clock::now();
      HEADRACE_TRY(const std::optional<Batch> batch, next_batch(*loader_));
      spent.input += seconds_since(asked);
      if (!batch) return Error{Code::kInternal, "the loader ended before the epoch did"};
      if (one_pass_)
        HEADRACE_CHECK(one_pass_->score(*batch, *loader_, batch_number, options_.batch_size,
                                        run_.wall_time_s(), events_->training()));
      HEADRACE_TRY(const float loss, step.run(*batch, *loader_));
      const std::uint64_t begun = batch_number * options_.batch_size;
      corrupt_records += std::min(options_.batch_size, run_.train_records() - begun) - batch->records;
      ++batch_number;
      ++state_.step;
      ++result_.steps_done_now;
      if (!std::isfinite(loss)) return not_finite(concat("the loss became ", loss), epoch, state_.step);
      if (options_.log_every != 0 && state_.step % options_.log_every == 0) {
        events_->batch_loss(state_.step, loss);
      }
      run_.on_step({epoch, state_.step, total_steps()});
    }
    spent.all = seconds_since(start);
    spent.hand_over = spent.all - spent.input - step.model_seconds();
    events_->time_spent(epoch, spent);
    result_.training_seconds += spent.all;
    return end_epoch(epoch, batch_number, step, corrupt_records);
  }

  Status end_epoch(std::uint64_t epoch, std::uint64_t batches, const StepCall& step,
                   std::uint64_t corrupt_records) {
    one_pass_.reset();
    EpochMetrics metrics{.epoch = epoch, .step = state_.step, .values = {}};
    HEADRACE_TRY(metrics.values, step.values(""));
    HEADRACE_CHECK(validate(metrics, corrupt_records));
    result_.corrupt_records = std::max(result_.corrupt_records, corrupt_records);
    HEADRACE_TRY(const Variables variables, read_variables(*model_));
    HEADRACE_CHECK(check_finite(metrics, variables));
    HEADRACE_CHECK(write_events(epoch, metrics, variables));
    state_.epoch = epoch;
    state_.loader_state = loader_->state(epoch - 1, batches);
    state_.history.push_back(metrics);
    state_.finished = is_finished();
    HEADRACE_CHECK(checkpoints_->save(*model_, state_));
    run_.on_epoch(metrics);
    return {};
  }

  Status validate(EpochMetrics& metrics, std::uint64_t& corrupt_records) {
    if (run_.validation_range.count == 0) return {};
    HEADRACE_TRY(StepCall step, prepare("eval_step"));
    HEADRACE_TRY(const std::unique_ptr<BatchLoader> loader,
                 BatchLoader::create({{.dataset = run_.dataset, .range = run_.validation_range}},
                                     loader_options(ShuffleMode::kNone)));
    while (true) {
      HEADRACE_TRY(const std::optional<Batch> batch, next_batch(*loader));
      if (!batch) break;
      HEADRACE_CHECK(step.run(*batch, *loader));
    }
    corrupt_records += loader->stats().corrupt_records;
    add_remarks(*loader);
    HEADRACE_TRY(auto values, step.values("val_"));
    metrics.values.merge(values);
    return {};
  }

  // A step's loss is computed before its update, so the effect of an epoch's last update shows only here.
  Status check_finite(const EpochMetrics& metrics, const Variables& variables) const {
    const auto loss = metrics.values.find("val_loss");
    if (loss != metrics.values.end() && !std::isfinite(loss->second))
      return not_finite(concat("the validation loss became ", loss->second), metrics.epoch, metrics.step);
    for (const TracedVariable& variable : result_.model.variables) {
      const auto found = variables.find(variable.name);
      const bool is_weight = variable.role == "trainable" && found != variables.end() &&
                             found->second.type() == DataType::kFloat32;
      if (!is_weight) continue;
      for (const float value : found->second.values<float>()) {
        if (!std::isfinite(value))
          return not_finite(concat(variable.name, " got the value ", value), metrics.epoch, metrics.step);
      }
    }
    return {};
  }

  Status write_events(std::uint64_t epoch, const EpochMetrics& metrics, const Variables& variables) {
    const EventStamp stamp = events_->stamp(epoch);
    for (const TracedVariable& variable : result_.model.variables) {
      const auto found = variables.find(variable.name);
      if (variable.role == "trainable" && found != variables.end())
        events_->training().histogram(stamp, variable.name, found->second.values<float>());
    }
    if (epoch == 1) {
      const std::filesystem::path file = std::filesystem::path(result_.model.folder) / "graph.pb";
      std::ifstream graph(file, std::ios::binary);
      const std::string bytes((std::istreambuf_iterator<char>(graph)), std::istreambuf_iterator<char>());
      if (!graph) return Error{Code::kUnknown, concat(file.string(), " can no longer be read")};
      events_->training().graph(stamp, as_bytes(bytes));
    }
    return events_->end(metrics);
  }

  bool is_finished() {
    const bool has_steps_left = options_.steps == 0 || state_.step < options_.steps;
    return state_.epoch >= options_.epochs || !has_steps_left || stops_early();
  }

  bool stops_early() {
    if (options_.early_stop == 0 || run_.validation_range.count == 0) return false;
    result_.stopped_early = state_.epoch - best_epoch(state_.history) >= options_.early_stop;
    return result_.stopped_early;
  }

  void describe_end() {
    result_.history = state_.history;
    result_.steps = state_.step;
    result_.exported_epoch = options_.early_stop == 0 ? state_.epoch : best_epoch(state_.history);
  }

  Status finish() {
    describe_end();
    if (result_.exported_epoch != state_.epoch)
      HEADRACE_CHECK(checkpoints_->restore_epoch(*model_, result_.exported_epoch));
    return export_run(run_, *owned_, *model_, result_);
  }

  const TrainRun& run_;
  const TrainOptions& options_;
  const TrainEnvironment& environment_;
  std::optional<KeptModel> kept_;  // set if the run already has a trace
  std::unique_ptr<Model> model_;
  std::optional<OwnedOutput> owned_;
  std::optional<CheckpointStore> checkpoints_;  // belongs to owned_
  std::unique_ptr<BatchLoader> loader_;
  RunState state_;
  std::optional<RunEvents> events_;
  std::optional<OnePass> one_pass_;  // only in the first epoch
  TrainResult result_;
};

}  // namespace

Result<TrainResult> train_natively(const TrainRun& run) { return NativeLoop(run).run(); }

}  // namespace headrace
