#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/engine/tensorflow/python_child.h"
#include "headrace/os/child_process.h"
#include "headrace/store/staging.h"
#include "headrace/track/published_folder.h"
#include "headrace/track/stage_output.h"
#include "headrace/train/checkpoint.h"
#include "headrace/train/class_weights.h"
#include "headrace/train/metrics_json.h"
#include "headrace/train/train_run.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kModelSeedMask = 0xffff'ffff;  // the seeds that keras.utils.set_random_seed takes
constexpr std::chrono::milliseconds kGrace{1000};
constexpr std::string_view kGoOn = "go on\n";

std::vector<EpochMetrics> history_from_json(const Json& from) {
  std::vector<EpochMetrics> history;
  for (const Json& metrics : from.values()) history.push_back(metrics_from_json(metrics));
  return history;
}

Code code_named(std::string_view name) {
  for (int number = 1; number <= static_cast<int>(Code::kUnauthenticated); ++number) {
    if (code_name(static_cast<Code>(number)) == name) return static_cast<Code>(number);
  }
  return Code::kUnknown;
}

// Pairs of kind and numbers, as in headrace.Augmentation.
Json augmentations_to_json(const std::vector<Augmentation>& augmentations) {
  struct ToJson {
    Json operator()(const Flip&) const { return Json::array({"flip", Json::array()}); }
    Json operator()(const Crop& crop) const {
      return Json::array({"crop", Json::array({crop.size.height, crop.size.width})});
    }
    Json operator()(const Brightness& change) const {
      return Json::array({"brightness", Json::array({change.delta})});
    }
    Json operator()(const Contrast& change) const {
      return Json::array({"contrast", Json::array({change.lower, change.upper})});
    }
  };
  Json out = Json::array();
  for (const Augmentation& augmentation : augmentations) out.push_back(std::visit(ToJson(), augmentation));
  return out;
}

/// Runs python/headrace/_src/fit.py and handles its messages, which the top of that file describes.
class KerasLoop {
 public:
  explicit KerasLoop(const TrainRun& run) : run_(run), options_(run.options), result_(begin_result(run)) {}

  Result<TrainResult> run() {
    HEADRACE_TRY(const bool was_exported, is_exported(run_, result_));
    if (was_exported) return finished_before();
    HEADRACE_TRY(const StagedFolder staged, StagedFolder::create(run_.environment.temporary_folder));
    folder_ = fs::absolute(staged.path());
    HEADRACE_CHECK(fit());
    HEADRACE_TRY(result_.model, read_traced_model(folder_ / "trace"));
    const ModelOptions model_options{.intra_op_threads = run_.intra_op_threads};
    HEADRACE_TRY(const std::unique_ptr<Model> model,
                 run_.environment.engine.load(result_.model.saved_model_folder, model_options));
    HEADRACE_CHECK(export_run(run_, *owned_, *model, result_));
    return std::move(result_);
  }

 private:
  Result<TrainResult> finished_before() {
    result_.was_finished = true;
    HEADRACE_TRY(const auto checkpoint, find_begun(run_, kCheckpointsFolder));
    HEADRACE_TRY(const auto description, find_begun(run_, kModelFolder));
    if (!checkpoint || !description)
      return folder_is_gone(run_, description ? kCheckpointsFolder : kModelFolder);
    HEADRACE_TRY(KeptModel model, open_kept_model(run_, *description));
    result_.model = std::move(model.model);
    HEADRACE_CHECK(
        read_json(checkpoint->manifest.attributes_json, complaint(), [&](const Json& attributes) -> Status {
          result_.history = history_from_json(attributes.at("history"));
          return {};
        }));
    if (result_.history.empty())
      return Error{Code::kDataLoss, "the run's last checkpoint does not belong to an epoch"};
    const EpochMetrics& last = result_.history.back();
    result_.steps = last.step;
    result_.exported_epoch = options_.early_stop == 0 ? last.epoch : best_epoch(result_.history);
    HEADRACE_CHECK(remove_superseded_events(run_, last.epoch, run_.seen.chain.entry));
    return std::move(result_);
  }

  Json request(const Json& spec) const {
    const TrainOptions& options = options_;
    const LoaderBudgets budgets = loader_budgets(run_);
    Json from = nullptr;
    if (options.init_from)
      from = {{"url", options.init_from->at("checkpoints").url.text()}, {"kind", run_.init_kind}};
    return {{"parent", getpid()},
            {"folder", folder_.string()},
            {"tensorflow_version", run_.environment.trace.tensorflow_version},
            {"model", options.model},
            {"model_seed", options.seed & kModelSeedMask},
            {"spec", spec},
            {"callbacks", options.callbacks},
            {"data", run_.data.url.text()},
            {"version", run_.dataset->version()},
            {"split", options.split},
            {"cache", options.cache_url},
            {"on_corrupt", policy_name(options.on_corrupt)},
            {"order", run_.order_version},
            {"train_records", run_.train_records()},
            {"augment", augmentations_to_json(run_.augmentations)},
            {"balance", options.balance},
            {"bucket", options.bucket},
            {"image_size", options.image_size
                               ? Json(Json::array({options.image_size->height, options.image_size->width}))
                               : Json()},
            {"batch_size", options.batch_size},
            {"seed", options.seed},
            {"epochs", options.epochs},
            {"steps", options.steps},
            {"early_stop", run_.validation_range.count == 0 ? 0 : options.early_stop},
            {"learning_rate", options.learning_rate ? Json(*options.learning_rate) : Json()},
            {"init_from", from},
            {"log_every", options.log_every},
            {"training_budget_bytes", budgets.training_bytes},
            {"validation_budget_bytes", budgets.validation_bytes},
            {"loader_threads", options.loader_threads},
            {"intra_op_threads", run_.intra_op_threads},
            {"run", run_.run.url.text()},
            {"checkpoints", run_.run.at("checkpoints").url.text()}};
  }

  // A run that continues keeps the class weights that it began with.
  Result<TraceRequest> kept_weights() {
    if (options_.class_weights != kBalanced) return run_.request;
    HEADRACE_TRY(const auto begun, find_begun(run_, kModelFolder));
    if (!begun) return weighed_request(run_);
    HEADRACE_TRY(const KeptModel kept, open_kept_model(run_, *begun));
    TraceRequest out = run_.request;
    out.class_weights = kept.model.class_weights;
    return out;
  }

  Status fit() {
    const fs::path file = folder_ / "request.json";
    HEADRACE_TRY(const TraceRequest weighed, kept_weights());
    HEADRACE_TRY(const Json spec, trace_spec(weighed));
    if (!(std::ofstream(file) << request(spec).dump() << std::endl))
      return Error{Code::kResourceExhausted, concat("writing ", file.string(), ": is the disk full?")};
    const ChildConversation conversation{
        .on_line = [this](std::string_view line) { return take(line); },
        .on_error_line = [this](std::string_view line) { run_.environment.on_print(line); }};
    const TraceOptions& python = run_.environment.trace;
    auto variables = python_variables(python, run_.environment.environment);
    variables.insert_or_assign("TMPDIR", folder_.string());  // removed, however the process ends
    const auto ended = converse_with_child({python.interpreter, "-m", "headrace._src.fit", file.string()},
                                           variables, {.stop = run_.stop, .grace = kGrace}, conversation);
    if (!ended && ended.error().code == Code::kCancelled)
      return Error{Code::kCancelled,
                   concat("training was stopped in epoch ", std::max<std::uint64_t>(epoch_, 1))};
    if (!ended) return ended.error();
    if (failure_) return *std::move(failure_);
    return is_done_ ? Status{} : Status(died(*ended));
  }

  Error died(const ChildResult& child) const {
    const int signal = child.exit_status - 128;
    const char* name = signal > 0 ? sigdescr_np(signal) : nullptr;
    return {Code::kUnknown,
            concat("the Python process that trains ended ",
                   name != nullptr ? concat("by signal ", signal, " (", name, ")")
                                   : concat("with status ", child.exit_status),
                   signal == SIGKILL ? "; did memory run out?" : "",
                   "; the same command continues from the last checkpoint. Its last output:\n",
                   trim(child.error_tail))};
  }

  Result<std::string> take(std::string_view line) {
    const Result<Json> message = parse_json(line);
    if (!message) return not_understood(message.error().message);
    try {
      if (message->members().size() != 1) return not_understood("not an object of one member");
      const auto& [name, value] = *message->members().begin();
      return take(name, value);
    } catch (const JsonError& error) {
      return not_understood(error.what());
    }
  }

  static Error not_understood(std::string_view why) {
    return {Code::kInternal, concat("the training process sent a message that cannot be understood: ", why)};
  }

  // Throws JsonError if a member is missing, or has the wrong type.
  Result<std::string> take(const std::string& name, const Json& value) {
    std::string answer;
    if (name == "model") {
      HEADRACE_TRY(answer, begin());
    } else if (name == "step") {
      HEADRACE_CHECK(take_step(value));
    } else if (name == "spent") {
      HEADRACE_CHECK(take_spent(value));
    } else if (name == "epoch") {
      trained_ = metrics_from_json(value);
      HEADRACE_CHECK(begin_epoch(trained_.epoch));
      HEADRACE_CHECK(events_->end(trained_));
      answer = kGoOn;
    } else if (name == "saved") {
      run_.on_epoch(trained_);
    } else if (name == "diverged") {
      failure_ = diverged(value.get<std::string>("what"), value.get<std::uint64_t>("epoch"),
                          value.get<std::uint64_t>("step"), run_.environment.is_run_temporary);
    } else if (name == "error") {
      failure_ = error_from(value);
    } else if (name == "done") {
      take_result(value);
    } else {
      return not_understood(name);
    }
    return answer;
  }

  // Takes ownership of the run. The Python process sends `model` only after it has found that data, model and
  // options fit. The answer gives that process the right to publish checkpoints.
  Result<std::string> begin() {
    if (owned_) return not_understood("a second model");
    if (const auto described = read_traced_model((folder_ / "model").string()))
      run_.environment.on_binding(described->binding);
    HEADRACE_TRY(owned_, claim_run(run_));
    HEADRACE_TRY(const auto description, owned_->published(kModelFolder));
    if (!description) HEADRACE_CHECK(keep_model(run_, *owned_, folder_ / "model"));
    HEADRACE_TRY(const auto checkpoint, owned_->published(kCheckpointsFolder));
    HEADRACE_TRY(const std::uint64_t epoch, epoch_of(checkpoint));
    HEADRACE_CHECK(remove_superseded_events(run_, epoch, owned_->entry()));
    events_.emplace(run_, owned_->suffix());
    const Ownership& checkpoints = owned_->in(kCheckpointsFolder);
    return Json{{"entry", checkpoints.entry()},
                {"generation", checkpoints.generation()},
                {"last", checkpoints.last()},
                {"published", owned_->published_number(kCheckpointsFolder)},
                {"suffix", owned_->suffix()}}
               .dump() +
           "\n";
  }

  // The last completed epoch; 0: none.
  Result<std::uint64_t> epoch_of(const std::optional<PublishedFolder>& checkpoint) const {
    if (!checkpoint) return std::uint64_t{0};
    return read_json(checkpoint->manifest.attributes_json, complaint(),
                     [](const Json& attributes) -> Result<std::uint64_t> {
                       return attributes.get<std::uint64_t>("epoch");
                     });
  }

  std::string complaint() const {
    return concat("the checkpoint's manifest in ", run_.run.at(kCheckpointsFolder).describe(),
                  " is not as docs/formats/keras-checkpoint.md says");
  }

  Status begin_epoch(std::uint64_t epoch) {
    if (!events_) return not_understood("an epoch before the model");
    if (epoch == epoch_) return {};
    epoch_ = epoch;
    events_->begin(epoch);
    return {};
  }

  Status take_step(const Json& value) {
    const TrainProgress at{value.get<std::uint64_t>("epoch"), value.get<std::uint64_t>("step"),
                           value.get<std::uint64_t>("total_steps")};
    HEADRACE_CHECK(begin_epoch(at.epoch));
    if (value.contains("loss")) events_->batch_loss(at.step, value.get<double>("loss"));
    run_.on_step(at);
    return {};
  }

  Status take_spent(const Json& value) {
    const auto epoch = value.get<std::uint64_t>("epoch");
    HEADRACE_CHECK(begin_epoch(epoch));
    events_->time_spent(epoch, {.all = value.get<double>("all"),
                                .input = value.get<double>("input"),
                                .hand_over = value.get<double>("hand_over")});
    return {};
  }

  Error error_from(const Json& value) const {
    const auto message = value.get<std::string>("message");
    if (value.contains("code"))
      return with_train_advice({code_named(value.get<std::string>("code")), message},
                               run_.environment.is_run_temporary);
    return python_error(value.get<std::string>("kind"), message).in("training " + options_.model);
  }

  void take_result(const Json& value) {
    result_.history = history_from_json(value.at("history"));
    value.get_to("exported_epoch", result_.exported_epoch);
    value.get_to("steps", result_.steps);
    value.get_to("steps_done_now", result_.steps_done_now);
    value.get_to("training_seconds", result_.training_seconds);
    value.get_to("stopped_early", result_.stopped_early);
    value.get_to("corrupt_records", result_.corrupt_records);
    value.get_to("records", result_.loader.records);
    value.get_to("fetched_bytes", result_.loader.fetched_bytes);
    value.get_to("inflated_bytes", result_.loader.inflated_bytes);
    value.get_to("wait_seconds", result_.loader.wait_seconds);
    for (const std::string& remark : value.get<std::vector<std::string>>("remarks"))
      add_remark(result_, remark);
    is_done_ = result_.exported_epoch > 0 && result_.exported_epoch <= result_.history.size();
  }

  const TrainRun& run_;
  const TrainOptions& options_;
  fs::path folder_;
  std::optional<OwnedOutput> owned_;
  std::optional<RunEvents> events_;
  std::uint64_t epoch_ = 0;  // the epoch whose events are being collected
  EpochMetrics trained_;
  std::optional<Error> failure_;
  bool is_done_ = false;
  TrainResult result_;
};

}  // namespace

Result<TrainResult> train_with_keras(const TrainRun& run) { return KerasLoop(run).run(); }

}  // namespace headrace
