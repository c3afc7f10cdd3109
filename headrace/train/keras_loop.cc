#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "headrace/base/json_depth.h"
#include "headrace/base/text.h"
#include "headrace/engine/tensorflow/python_child.h"
#include "headrace/os/child_process.h"
#include "headrace/store/staging.h"
#include "headrace/track/published_folder.h"
#include "headrace/train/checkpoint.h"
#include "headrace/train/metrics_json.h"
#include "headrace/train/train_run.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t kModelSeedMask = 0xffff'ffff;  // what keras.utils.set_random_seed takes
constexpr std::chrono::milliseconds kGrace{1000};
constexpr std::string_view kGoOn = "go on\n";

std::vector<EpochMetrics> history_from_json(const json& from) {
  std::vector<EpochMetrics> history;
  for (const json& metrics : from) history.push_back(metrics_from_json(metrics));
  return history;
}

Code code_named(std::string_view name) {
  for (int number = 1; number <= static_cast<int>(Code::kUnauthenticated); ++number) {
    if (code_name(static_cast<Code>(number)) == name) return static_cast<Code>(number);
  }
  return Code::kUnknown;
}

/// Runs python/headrace/_src/fit.py, whose head describes the messages, and follows it.
class KerasLoop {
 public:
  explicit KerasLoop(const TrainRun& run)
      : run_(run), options_(run.options), events_(run), result_(begin_result(run)) {}

  Result<TrainResult> run() {
    HEADRACE_TRY(const std::optional<std::string> exported, exported_digest(run_));
    if (exported) return finished_before(*exported);
    HEADRACE_TRY(const StagedFolder staged, StagedFolder::create(run_.environment.temporary_folder));
    folder_ = fs::absolute(staged.path());
    HEADRACE_CHECK(fit());
    HEADRACE_TRY(result_.model, read_traced_model(folder_ / "trace"));
    const ModelOptions model_options{.intra_op_threads = options_.intra_op_threads};
    HEADRACE_TRY(const std::unique_ptr<Model> model,
                 run_.environment.engine.load(result_.model.saved_model_folder, model_options));
    HEADRACE_CHECK(export_run(run_, *model, result_));
    return std::move(result_);
  }

 private:
  Result<TrainResult> finished_before(const std::string& exported) {
    result_.was_finished = true;
    result_.export_digest = exported;
    HEADRACE_TRY(const auto checkpoint, read_published(run_.run.at("checkpoints"), kKerasCheckpointKind));
    HEADRACE_TRY(const std::optional<KeptModel> model, kept_model(run_));
    if (!checkpoint || !model) {
      return Error{Code::kDataLoss, concat(run_.run.describe(), " is exported, but its ",
                                           model ? "checkpoints are" : "model/ is",
                                           " gone; restore that, or start over with --overwrite")};
    }
    result_.model = model->model;
    try {
      result_.history = history_from_json(json::parse(checkpoint->manifest.attributes_json).at("history"));
    } catch (const json::exception& exception) {
      return Error{Code::kDataLoss,
                   concat("the checkpoint's manifest in ", run_.run.at("checkpoints").describe(),
                          " is not as docs/formats/keras-checkpoint.md says: ", exception.what())};
    }
    if (result_.history.empty())
      return Error{Code::kDataLoss, "the run's last checkpoint does not belong to an epoch"};
    const EpochMetrics& last = result_.history.back();
    result_.steps = last.step;
    result_.exported_epoch = options_.early_stop == 0 ? last.epoch : best_epoch(result_.history);
    return std::move(result_);
  }

  json request() const {
    const TrainOptions& options = options_;
    const LoaderBudgets budgets = loader_budgets(run_);
    json from = nullptr;
    if (options.init_from)
      from = {{"url", options.init_from->at("checkpoints").url.text()}, {"kind", run_.init_kind}};
    return {{"parent", getpid()},
            {"folder", folder_.string()},
            {"tensorflow_version", run_.environment.trace.tensorflow_version},
            {"model", options.model},
            {"model_seed", options.seed & kModelSeedMask},
            {"spec",
             {{"features", {run_.features_width}},
              {"classes", run_.labels_width},
              {"label_dtype", data_type_name(DataType::kInt64)},
              {"arguments", json::object()}}},
            {"callbacks", options.callbacks},
            {"data", run_.data.url.text()},
            {"split", options.split},
            {"cache", options.cache_url},
            {"on_corrupt", policy_name(options.on_corrupt)},
            {"train_records", run_.train_range.count},
            {"features", options.features},
            {"labels", options.labels},
            {"batch_size", options.batch_size},
            {"seed", options.seed},
            {"epochs", options.epochs},
            {"steps", options.steps},
            {"early_stop", run_.validation_range.count == 0 ? 0 : options.early_stop},
            {"learning_rate", options.learning_rate ? json(*options.learning_rate) : json()},
            {"init_from", from},
            {"log_every", options.log_every},
            {"training_budget_bytes", budgets.training_bytes},
            {"validation_budget_bytes", budgets.validation_bytes},
            {"loader_threads", options.loader_threads},
            {"intra_op_threads", options.intra_op_threads},
            {"run", run_.run.url.text()},
            {"checkpoints", run_.run.at("checkpoints").url.text()}};
  }

  Status fit() {
    const fs::path file = folder_ / "request.json";
    if (!(std::ofstream(file) << request().dump(1, ' ', false, json::error_handler_t::replace) << std::endl))
      return Error{Code::kResourceExhausted, concat("writing ", file.string(), ": is the disk full?")};
    const ChildConversation conversation{
        .on_line = [this](std::string_view line) { return take(line); },
        .on_error_line = [this](std::string_view line) { run_.environment.on_print(line); }};
    const TraceOptions& python = run_.environment.trace;
    auto variables = python_variables(python, run_.environment.environment);
    variables.insert_or_assign("TMPDIR", folder_.string());  // cleaned, however the process ends
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
    return {Code::kUnknown, concat("the Python process that trains ended ",
                                   name != nullptr ? concat("by signal ", signal, " (", name, ")")
                                                   : concat("with status ", child.exit_status),
                                   signal == SIGKILL ? "; was memory short?" : "",
                                   "; the same command continues from the last checkpoint. It said last:\n",
                                   trim(child.error_tail))};
  }

  Result<std::string> take(std::string_view line) {
    try {
      const json message = check_json_depth(line) ? json::parse(line) : json();
      if (message.is_object() && message.size() == 1)
        return take(message.begin().key(), message.begin().value());
    } catch (const json::exception& exception) {
      return not_understood(exception.what());
    }
    return not_understood("not an object of one member");
  }

  static Error not_understood(std::string_view why) {
    return {Code::kInternal, concat("the training process sent a message that cannot be understood: ", why)};
  }

  // Throws json::exception where a member is missing, or of another type.
  Result<std::string> take(const std::string& name, const json& value) {
    std::string answer;
    if (name == "model") {
      // Nothing is begun, or removed, for data, a model or options that do not fit.
      HEADRACE_CHECK(claim_run(run_));
      HEADRACE_CHECK(keep_model(run_, folder_ / "model"));
      answer = kGoOn;
    } else if (name == "step") {
      take_step(value);
    } else if (name == "epoch") {
      trained_ = metrics_from_json(value);
      begin_epoch(trained_.epoch);
      HEADRACE_CHECK(events_.end(trained_));
      answer = kGoOn;
    } else if (name == "saved") {
      run_.on_epoch(trained_);
    } else if (name == "diverged") {
      failure_ = diverged(value.at("what").get<std::string>(), value.at("epoch"), value.at("step"));
    } else if (name == "error") {
      failure_ = error_from(value);
    } else if (name == "done") {
      take_result(value);
    } else {
      return not_understood(name);
    }
    return answer;
  }

  void begin_epoch(std::uint64_t epoch) {
    if (epoch == epoch_) return;
    epoch_ = epoch;
    events_.begin(epoch);
  }

  void take_step(const json& value) {
    const TrainProgress at{value.at("epoch"), value.at("step"), value.at("total_steps")};
    begin_epoch(at.epoch);
    if (const auto loss = value.find("loss"); loss != value.end()) events_.batch_loss(at.step, *loss);
    run_.on_step(at);
  }

  Error error_from(const json& value) const {
    const std::string message = value.at("message");
    if (const auto code = value.find("code"); code != value.end())
      return with_train_advice({code_named(code->get<std::string>()), message});
    return python_error(value.at("kind").get<std::string>(), message).in("training " + options_.model);
  }

  void take_result(const json& value) {
    result_.history = history_from_json(value.at("history"));
    value.at("exported_epoch").get_to(result_.exported_epoch);
    value.at("steps").get_to(result_.steps);
    value.at("steps_done_now").get_to(result_.steps_done_now);
    value.at("training_seconds").get_to(result_.training_seconds);
    value.at("stopped_early").get_to(result_.stopped_early);
    value.at("corrupt_records").get_to(result_.corrupt_records);
    value.at("records").get_to(result_.loader.records);
    value.at("fetched_bytes").get_to(result_.loader.fetched_bytes);
    value.at("inflated_bytes").get_to(result_.loader.inflated_bytes);
    value.at("wait_seconds").get_to(result_.loader.wait_seconds);
    for (const std::string remark : value.at("remarks")) add_remark(result_, remark);
    is_done_ = result_.exported_epoch > 0 && result_.exported_epoch <= result_.history.size();
  }

  const TrainRun& run_;
  const TrainOptions& options_;
  fs::path folder_;
  RunEvents events_;
  std::uint64_t epoch_ = 0;  // whose events are being collected
  EpochMetrics trained_;
  std::optional<Error> failure_;
  bool is_done_ = false;
  TrainResult result_;
};

}  // namespace

Result<TrainResult> train_with_keras(const TrainRun& run) { return KerasLoop(run).run(); }

}  // namespace headrace
