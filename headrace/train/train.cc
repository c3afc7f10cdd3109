#include "headrace/train/train.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "headrace/base/text.h"
#include "headrace/store/numbered.h"
#include "headrace/store/staging.h"
#include "headrace/track/published_folder.h"
#include "headrace/track/stage_output.h"
#include "headrace/train/checkpoint.h"
#include "headrace/train/event_log.h"
#include "headrace/train/export.h"
#include "headrace/train/step_loop.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;
using Variables = std::map<std::string, Tensor>;

constexpr std::string_view kTraceKind = "trace";
constexpr std::uint64_t kGraphLimitBytes = 1 << 30;

// Names: what a killed process may leave that no manifest names yet.
StageOutput train_output() {
  StageOutput out{
      .stage = "train",
      .claim = kConfigurationKey,
      .folders = {{"export", "saved_model"}, {"checkpoints", "checkpoint"}, {"model", kTraceKind}},
      .names = {"model/model.json", "model/graph.pb"}};
  for (const char* saved_model : {"export", "model/saved_model"}) {
    for (const char* name : {"saved_model.pb", "fingerprint.pb"})
      out.names.push_back(concat(saved_model, "/", name));
  }
  for (const char* variables :
       {"export/variables", "model/saved_model/variables", "checkpoints/step-########"}) {
    for (const char* name : {"variables.index", "variables.data-#####-of-#####"})
      out.names.push_back(concat(variables, "/", name));
  }
  for (const char* events : {"events/train", "events/validation"}) {
    for (const char* name : {"events.out.tfevents.headrace", "events.out.tfevents.headrace.######"})
      out.names.push_back(concat(events, "/", name));
  }
  return out;
}

double wall_time_s(const Environment& environment) {
  return std::chrono::duration<double>(environment.now().time_since_epoch()).count();
}

std::string shown(const FeatureSchema& schema) {
  std::string text = schema.dtype;
  for (const std::int64_t size : schema.shape.value_or(std::vector<std::int64_t>{}))
    text += concat("[", size, "]");
  return text;
}

// Length of the vectors of a feature. `needs` says what `option` is for.
Result<std::uint64_t> vector_width(const DatasetAttributes& attributes, std::string_view option,
                                   const std::string& feature, std::string_view dtype,
                                   std::string_view needs) {
  const auto found = attributes.features.find(feature);
  if (found != attributes.features.end() && found->second.dtype == dtype && found->second.shape &&
      found->second.shape->size() == 1 && found->second.shape->front() > 0)
    return static_cast<std::uint64_t>(found->second.shape->front());
  std::vector<std::string> names;
  for (const auto& [name, schema] : attributes.features) names.push_back(concat(name, " ", shown(schema)));
  return Error{Code::kInvalidArgument,
               concat(option, " ", feature, ": it needs ", needs, "; the data set has ", join(names, ", "))};
}

// One run of the stage.
class Training {
 public:
  Training(const Location& data, const Location& run, const TrainOptions& options,
           const TrainEnvironment& environment, std::string_view run_id, const OnStep& on_step,
           const OnEpoch& on_epoch, const std::stop_token& stop)
      : data_(data),
        run_(run),
        options_(options),
        environment_(environment),
        run_id_(run_id),
        on_step_(on_step),
        on_epoch_(on_epoch),
        stop_(stop),
        train_events_(run.at("events/train"), "headrace"),
        validation_events_(run.at("events/validation"), "headrace") {}

  Result<TrainResult> run() {
    HEADRACE_CHECK(open_data());
    HEADRACE_TRY(const std::string init_digest, initial_checkpoint());
    const Configuration configuration = describe(init_digest);
    plan_ = configuration_digest(configuration);
    HEADRACE_CHECK(check_output(run_, train_output(), configuration, options_.overwrite));
    HEADRACE_CHECK(open_model());
    checkpoints_.emplace(run_, environment_.temporary_folder, plan_, run_id_);
    std::optional<RunState> state;
    if (!options_.overwrite) {
      HEADRACE_TRY(state, checkpoints_->restore_latest(*model_));
    }
    if (state) {
      state_ = *std::move(state);
    } else {
      HEADRACE_CHECK(initialize());
    }
    // Nothing is begun, or removed, for data, a model or options that do not fit.
    HEADRACE_CHECK(claim_output(run_, train_output(), configuration, options_.overwrite));
    HEADRACE_CHECK(keep_trace());
    if (!state_.finished) HEADRACE_CHECK(train_epochs());
    HEADRACE_CHECK(finish());
    return std::move(result_);
  }

 private:
  Status open_data() {
    HEADRACE_TRY(const auto published, latest_number(*data_.store, data_.at(kManifestPrefix).key));
    if (!published) {
      return Error{
          Code::kInvalidArgument,
          concat(data_.describe(),
                 " has no manifest, so its features and labels are unknown; headrace prepare makes one")};
    }
    HEADRACE_TRY(dataset_, Dataset::open(data_, {.split = options_.split,
                                                 .on_corrupt = options_.on_corrupt,
                                                 .call = {.stop = stop_}}));
    result_.remarks = dataset_->remarks();
    const DatasetAttributes& attributes = *dataset_->attributes();
    auto features = vector_width(attributes, "--features", options_.features, "float32",
                                 "a feature of float32 vectors of one length");
    auto labels = vector_width(attributes, "--labels", options_.labels, "int64",
                               "a feature of one-hot int64 vectors, one value for each class");
    if (!features) return std::move(features).error().in(data_.describe());
    if (!labels) return std::move(labels).error().in(data_.describe());
    features_width_ = *features;
    labels_width_ = *labels;
    const std::uint64_t records = dataset_->record_count();
    const auto tail =
        static_cast<std::uint64_t>(std::ceil(options_.validation * static_cast<double>(records)));
    train_range_ = {0, records - std::min(tail, records)};
    validation_range_ = {train_range_.count, records - train_range_.count};
    result_.train_records = train_range_.count;
    result_.validation_records = validation_range_.count;
    return {};
  }

  // Digest of the checkpoint that --init-from names; empty without it.
  Result<std::string> initial_checkpoint() const {
    if (!options_.init_from) return std::string();
    if (options_.overwrite && options_.init_from->describe() == run_.describe())
      return Error{Code::kInvalidArgument,
                   concat("--init-from names ", run_.describe(), ", which --overwrite would remove")};
    HEADRACE_TRY(const std::string digest,
                 CheckpointStore(*options_.init_from, environment_.temporary_folder, "", "").latest_digest());
    if (!digest.empty()) return digest;
    return Error{Code::kNotFound, concat("--init-from ", options_.init_from->describe(),
                                         ": there is no checkpoint of a run there")};
  }

  Configuration describe(const std::string& init_digest) const {
    return {{"stage", "train 1"},
            {"data", data_.url.text()},
            {"data manifest", dataset_->digest()},
            {"split", options_.split},
            {"model", options_.model},
            {"features", options_.features},
            {"labels", options_.labels},
            {"epochs", concat(options_.epochs)},
            {"batch-size", concat(options_.batch_size)},
            {"validation", concat(options_.validation)},
            {"seed", concat(options_.seed)},
            {"learning-rate", options_.learning_rate ? concat(*options_.learning_rate) : "as compiled"},
            {"steps", concat(options_.steps)},
            {"early-stop", concat(options_.early_stop)},
            {"init-from", init_digest},
            {"on-corrupt", std::string(policy_name(options_.on_corrupt))},
            {"intra-op-threads", concat(options_.intra_op_threads)},
            {"engine", environment_.engine.version()}};
  }

  Result<TracedModel> trace() const {
    const TraceRequest request{.model = options_.model,
                               .features_shape = {static_cast<std::int64_t>(features_width_)},
                               .classes = static_cast<int>(labels_width_),
                               .label_type = DataType::kInt64,
                               .seed = options_.seed};
    return trace_model(request, environment_.trace, environment_.environment);
  }

  // From the trace that the run was started with, or from a new one.
  Status open_model() {
    std::optional<PublishedFolder> published;
    if (!options_.overwrite) {
      HEADRACE_TRY(published, read_published(run_.at("model"), kTraceKind));
    }
    if (published) {
      HEADRACE_TRY(StagedFolder staged, StagedFolder::create(environment_.temporary_folder));
      staged_model_.emplace(std::move(staged));
      HEADRACE_CHECK(download_published(*published, "", staged_model_->path()));
      HEADRACE_TRY(result_.model, read_traced_model(staged_model_->path()));
    } else {
      HEADRACE_TRY(result_.model, trace());
    }
    const ModelOptions model_options{.intra_op_threads = options_.intra_op_threads};
    HEADRACE_TRY(model_, environment_.engine.load(result_.model.saved_model_folder, model_options));
    return {};
  }

  // A new trace, with the run.
  Status keep_trace() const {
    if (staged_model_) return {};
    Manifest manifest{.kind = std::string(kTraceKind), .created_by = run_id_, .plan = plan_};
    const auto kept = publish_folder(result_.model.folder, run_.at("model"), "", "model.json", "trace",
                                     std::move(manifest), 1);
    return kept ? Status{} : Status(kept.error());
  }

  Status initialize() {
    if (options_.init_from) {
      const auto before =
          CheckpointStore(*options_.init_from, environment_.temporary_folder, "", "").restore_latest(*model_);
      if (!before) return Error(before.error()).in("--init-from");
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

  // TensorFlow restores a variable of any shape.
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
    LoaderOptions out;
    out.columns = {{.name = options_.features,
                    .type = FeatureType::kFloat32,
                    .length = static_cast<std::uint32_t>(features_width_)},
                   {.name = options_.labels,
                    .type = FeatureType::kInt64,
                    .length = static_cast<std::uint32_t>(labels_width_)}};
    out.batch_size = options_.batch_size;
    out.shuffle = shuffle;
    out.seed = options_.seed;
    out.epochs = shuffle == ShuffleMode::kNone ? 1 : options_.epochs;
    out.on_corrupt = options_.on_corrupt;
    out.threads = options_.loader_threads;
    out.memory_budget_bytes = options_.memory_budget_bytes;
    out.stop = stop_;
    return out;
  }

  Status train_epochs() {
    const std::vector<LoaderSource> sources = {{.dataset = dataset_, .range = train_range_}};
    LoaderOptions with = loader_options(ShuffleMode::kWindow);
    if (!state_.loader_state.empty()) {
      HEADRACE_TRY(const LoaderPosition position, parse_loader_state(state_.loader_state, sources, with));
      with.first_epoch = position.epoch;
      with.first_batch = position.batch;
    }
    HEADRACE_TRY(loader_, BatchLoader::create(sources, with));
    HEADRACE_TRY(StepCall step, StepCall::prepare(*model_, "train_step", features_width_, labels_width_));
    while (!state_.finished) HEADRACE_CHECK(train_epoch(step));
    result_.loader = loader_->stats();
    add_remarks(*loader_);
    return {};
  }

  // Every epoch meets the same damage.
  void add_remarks(const BatchLoader& loader) {
    for (std::string& remark : loader.remarks()) {
      if (std::ranges::find(result_.remarks, remark) == result_.remarks.end())
        result_.remarks.push_back(std::move(remark));
    }
  }

  static Result<std::optional<Batch>> next_batch(BatchLoader& loader) {
    auto batch = loader.next();
    if (batch || batch.error().code != Code::kDataLoss) return batch;
    Error error = std::move(batch).error();
    error.message += " (that is another configuration: with --overwrite, or another RUN)";
    return error;
  }

  std::uint64_t total_steps() const {
    const std::uint64_t all = options_.epochs * loader_->batches_per_epoch();
    return options_.steps == 0 ? all : std::min(all, options_.steps);
  }

  Status train_epoch(StepCall& step) {
    const std::uint64_t epoch = state_.epoch + 1;
    train_events_.begin(epoch, wall_time_s(environment_.environment));
    MetricSums sums(result_.model.metric_names);
    std::uint64_t batch_number = 0;
    std::uint64_t corrupt_records = 0;
    const auto start = Clock::now();
    while (batch_number < loader_->batches_per_epoch() && state_.step < total_steps()) {
      if (stop_.stop_requested())
        return Error{Code::kCancelled, concat("training was stopped in epoch ", epoch)};
      HEADRACE_TRY(const std::optional<Batch> batch, next_batch(*loader_));
      if (!batch) return Error{Code::kInternal, "the loader ended before the epoch did"};
      HEADRACE_TRY(const float loss, step.run(*batch, sums));
      const std::uint64_t begun = batch_number * options_.batch_size;
      corrupt_records += std::min(options_.batch_size, train_range_.count - begun) - batch->records;
      ++batch_number;
      ++state_.step;
      ++result_.steps_done_now;
      if (!std::isfinite(loss)) return diverged(epoch, concat("the loss became ", loss));
      if (options_.log_every != 0 && state_.step % options_.log_every == 0) {
        train_events_.scalar({wall_time_s(environment_.environment), static_cast<std::int64_t>(state_.step)},
                             "batch_loss", loss);
      }
      on_step_({epoch, state_.step, total_steps()});
    }
    result_.training_seconds += std::chrono::duration<double>(Clock::now() - start).count();
    return end_epoch(epoch, batch_number, sums, corrupt_records);
  }

  Error diverged(std::uint64_t epoch, std::string_view what) const {
    const std::string kept = state_.epoch == 0
                                 ? "no checkpoint was written yet"
                                 : concat("the checkpoint after epoch ", state_.epoch, " is kept");
    return {Code::kAborted,
            concat(what, " at step ", state_.step, " in epoch ", epoch, "; ", kept,
                   ". Look at the data with headrace inspect, or try a smaller --learning-rate with "
                   "--overwrite or another RUN")};
  }

  Status end_epoch(std::uint64_t epoch, std::uint64_t batches, const MetricSums& sums,
                   std::uint64_t corrupt_records) {
    EpochMetrics metrics{.epoch = epoch, .step = state_.step, .values = sums.values("")};
    HEADRACE_CHECK(validate(epoch, metrics, corrupt_records));
    result_.corrupt_records = std::max(result_.corrupt_records, corrupt_records);
    HEADRACE_TRY(const Variables variables, read_variables(*model_));
    HEADRACE_CHECK(check_finite(metrics, variables));
    HEADRACE_CHECK(write_events(epoch, metrics, variables));
    state_.epoch = epoch;
    state_.loader_state = loader_->state(epoch - 1, batches);
    state_.history.push_back(metrics);
    state_.finished = epoch >= options_.epochs || state_.step >= total_steps() || stops_early();
    HEADRACE_CHECK(checkpoints_->save(*model_, state_));
    on_epoch_(metrics);
    return {};
  }

  Status validate(std::uint64_t epoch, EpochMetrics& metrics, std::uint64_t& corrupt_records) {
    if (validation_range_.count == 0) return {};
    HEADRACE_TRY(StepCall step, StepCall::prepare(*model_, "eval_step", features_width_, labels_width_));
    HEADRACE_TRY(const std::unique_ptr<BatchLoader> loader,
                 BatchLoader::create({{.dataset = dataset_, .range = validation_range_}},
                                     loader_options(ShuffleMode::kNone)));
    MetricSums sums(result_.model.metric_names);
    while (true) {
      HEADRACE_TRY(const std::optional<Batch> batch, next_batch(*loader));
      if (!batch) break;
      HEADRACE_CHECK(step.run(*batch, sums));
    }
    corrupt_records += loader->stats().corrupt_records;
    add_remarks(*loader);
    metrics.values.merge(sums.values("val_"));
    const EventStamp stamp{wall_time_s(environment_.environment), static_cast<std::int64_t>(epoch)};
    validation_events_.begin(epoch, stamp.wall_time_s);
    for (const auto& [name, value] : sums.values("epoch_"))
      validation_events_.scalar(stamp, name, static_cast<float>(value));
    return validation_events_.end();
  }

  // The loss of a step is computed before its update: what the last update of an epoch did shows only here.
  Status check_finite(const EpochMetrics& metrics, const Variables& variables) const {
    const auto loss = metrics.values.find("val_loss");
    if (loss != metrics.values.end() && !std::isfinite(loss->second))
      return diverged(metrics.epoch, concat("the validation loss became ", loss->second));
    for (const TracedVariable& variable : result_.model.variables) {
      const auto found = variables.find(variable.name);
      const bool is_weight = variable.role == "trainable" && found != variables.end() &&
                             found->second.type() == DataType::kFloat32;
      if (!is_weight) continue;
      for (const float value : found->second.values<float>()) {
        if (!std::isfinite(value))
          return diverged(metrics.epoch, concat(variable.name, " came to hold ", value));
      }
    }
    return {};
  }

  Status write_events(std::uint64_t epoch, const EpochMetrics& metrics, const Variables& variables) {
    const EventStamp stamp{wall_time_s(environment_.environment), static_cast<std::int64_t>(epoch)};
    for (const auto& [name, value] : metrics.values) {
      if (!name.starts_with("val_")) train_events_.scalar(stamp, "epoch_" + name, static_cast<float>(value));
    }
    for (const TracedVariable& variable : result_.model.variables) {
      const auto found = variables.find(variable.name);
      if (variable.role == "trainable" && found != variables.end())
        train_events_.histogram(stamp, variable.name, found->second.values<float>());
    }
    if (epoch == 1) {
      // The trace is kept with the run, so its files are objects too.
      HEADRACE_TRY(const ReadObject graph,
                   read_object(*run_.store, run_.at("model/graph.pb").key, kGraphLimitBytes));
      train_events_.graph(stamp, graph.data);
    }
    return train_events_.end();
  }

  // Epoch (from 1) with the lowest validation loss; the last one without a validation part.
  std::uint64_t best_epoch() const {
    std::uint64_t best = state_.epoch;
    double lowest = std::numeric_limits<double>::infinity();
    for (const EpochMetrics& metrics : state_.history) {
      const auto found = metrics.values.find("val_loss");
      if (found != metrics.values.end() && found->second < lowest)
        lowest = found->second, best = metrics.epoch;
    }
    return best;
  }

  bool stops_early() {
    if (options_.early_stop == 0 || validation_range_.count == 0) return false;
    result_.stopped_early = state_.epoch - best_epoch() >= options_.early_stop;
    return result_.stopped_early;
  }

  Status finish() {
    const Location folder = run_.at("export");
    result_.history = state_.history;
    result_.steps = state_.step;
    result_.exported_epoch = options_.early_stop == 0 ? state_.epoch : best_epoch();
    HEADRACE_TRY(const std::optional<PublishedFolder> published, read_published(folder, "saved_model"));
    if (published) {
      result_.export_digest = published->digest;
      result_.was_finished = result_.steps_done_now == 0;
      return {};
    }
    if (result_.exported_epoch != state_.epoch)
      HEADRACE_CHECK(checkpoints_->restore_epoch(*model_, result_.exported_epoch));
    const DatasetAttributes& attributes = *dataset_->attributes();
    const ExportDescription description{.labels = attributes.labels,
                                        .encoder = attributes.encoder,
                                        .features = options_.features,
                                        .features_width = features_width_,
                                        .label_feature = options_.labels,
                                        .epoch = result_.exported_epoch,
                                        .step = state_.step};
    HEADRACE_TRY(result_.export_digest, export_model(*model_, result_.model, folder, description,
                                                     environment_.temporary_folder, plan_, run_id_));
    return {};
  }

  const Location& data_;
  const Location& run_;
  const TrainOptions& options_;
  const TrainEnvironment& environment_;
  const std::string run_id_;
  const OnStep& on_step_;
  const OnEpoch& on_epoch_;
  const std::stop_token& stop_;

  std::shared_ptr<const Dataset> dataset_;
  std::uint64_t features_width_ = 0;
  std::uint64_t labels_width_ = 0;
  RecordRange train_range_;
  RecordRange validation_range_;
  std::string plan_;
  std::optional<StagedFolder> staged_model_;
  std::unique_ptr<Model> model_;
  std::optional<CheckpointStore> checkpoints_;
  std::unique_ptr<BatchLoader> loader_;
  RunState state_;
  EventLog train_events_;
  EventLog validation_events_;
  TrainResult result_;
};

}  // namespace

Result<TrainResult> train(const Location& data, const Location& run, const TrainOptions& options,
                          const TrainEnvironment& environment, std::string_view run_id, const OnStep& on_step,
                          const OnEpoch& on_epoch, const std::stop_token& stop) {
  return Training(data, run, options, environment, run_id, on_step, on_epoch, stop).run();
}

}  // namespace headrace
