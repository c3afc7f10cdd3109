// The calls by which clients log into runs.

#include <algorithm>
#include <set>

#include "headrace/base/text.h"
#include "headrace/mlflow/names.h"
#include "headrace/mlflow/runs.h"

namespace headrace::mlflow {
namespace {

constexpr std::string_view kLoggedModelsTag = "mlflow.log-model.history";
constexpr std::size_t kDatasetsPerCall = 1000;

Error changed_param(const std::string& run, const std::string& key, const std::string& known,
                    const std::string& given) {
  return {Code::kInvalidArgument, concat("Changing param values is not allowed. Param with key='", key,
                                         "' was already logged with value='", known, "' for run ID='", run,
                                         "'. Attempted logging new value '", given, "'.")};
}

Status check_not_deleted(const std::string& run, const Json& state) {
  if (state["is_deleted"] != Json(true)) return {};
  return Error{Code::kInvalidArgument, concat("The run ", run, " is deleted: restore it first")};
}

// Reads a dataset in MLflow's form, and its tags.
Result<Json> read_input(const RequestFields& input) {
  HEADRACE_TRY(const auto tags, input.pairs("tags"));
  HEADRACE_TRY(const RequestFields dataset, input.object("dataset"));
  Json facts = Json::object();
  for (const char* name : {"name", "digest", "source_type", "source"}) {
    HEADRACE_TRY(facts[name], dataset.required_text(name));
  }
  for (const char* name : {"schema", "profile"}) {
    facts[name] = nullptr;
    if (!dataset.has(name)) continue;
    HEADRACE_TRY(facts[name], dataset.text(name));
  }
  Json tag_texts = Json::object();
  for (const auto& [key, value] : tags) tag_texts[key] = value;
  return Json({{"dataset", std::move(facts)}, {"tags", std::move(tag_texts)}});
}

bool is_same_dataset(const Json& one, const Json& other) {
  return one["dataset"]["name"] == other["dataset"]["name"] &&
         one["dataset"]["digest"] == other["dataset"]["digest"];
}

void add_input(Json& inputs, const Json& given) {
  for (const Json& known : inputs.values()) {
    if (is_same_dataset(known, given)) return;
  }
  inputs.push_back(given);
}

}  // namespace

Status Runs::log_batch(const LogBatch& batch, const CallOptions& call) {
  if (!batch.params.empty() || !batch.tags.empty())
    HEADRACE_CHECK(log_texts(batch.run_id, batch.params, batch.tags, call));
  if (!batch.points.empty()) return log_points(batch.run_id, batch.points, call);
  const auto log = log_of(batch.run_id, call);  // an empty batch also reports a missing run
  return log ? Status{} : Status(log.error());
}

Result<bool> Runs::log_immediately(const LogBatch& batch) {
  const bool names_model =
      std::ranges::any_of(batch.points, [](const LoggedPoint& each) { return !each.model_id.empty(); });
  if (!batch.params.empty() || !batch.tags.empty() || batch.points.empty() || names_model) return false;
  const PartPointer part = open_.find(batch.run_id);
  if (part == nullptr || !part->knows_metrics_of(batch.points)) return false;
  HEADRACE_CHECK(check_not_deleted(batch.run_id, *log_named(batch.run_id)->known()));
  return part->log(batch.points);  // false: the part is sealed, and another part takes the points
}

Status Runs::log_points(const std::string& run, std::span<const LoggedPoint> points,
                        const CallOptions& call) {
  HEADRACE_TRY(const auto log, log_of(run, call));
  HEADRACE_CHECK(check_not_deleted(run, *log->known()));
  constexpr int kAttempts = 10;  // a run may be ended and reopened in the meantime
  bool is_logged = false;
  for (int attempt = 0; attempt < kAttempts && !is_logged; ++attempt) {
    HEADRACE_TRY(const PartPointer part, part_of(run, call));
    HEADRACE_TRY(const EarlierPoints earlier, part->read_earlier(points));
    HEADRACE_TRY(is_logged, part->log(points, earlier));
  }
  if (!is_logged)
    return Error{Code::kUnavailable, "the run was ended repeatedly while points were logged; log them again"};
  return models_.keep_points(run, points, call);
}

Status Runs::log_texts(const std::string& run, const Texts& params, const Texts& tags,
                       const CallOptions& call) {
  const auto add = [&](Json& state) -> Status {
    if (!state["params"].is_object()) state["params"] = Json::object();
    if (!state["tags"].is_object()) state["tags"] = Json::object();
    for (const auto& [key, value] : params) {
      const Json& known = std::as_const(state)["params"][key];
      if (known.is_string() && known.text() != value) return changed_param(run, key, known.text(), value);
      state["params"][key] = value;
    }
    for (const auto& [key, value] : tags) {
      state["tags"][key] = value;
      if (key == kRunNameTag) state["name"] = value;
    }
    return {};
  };
  const auto changed = change(run, add, true, call);
  return changed ? Status{} : Status(changed.error());
}

Result<Json> Runs::log_param(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string run, fields.run_id());
  HEADRACE_TRY(std::string key, fields.required_text("key"));
  HEADRACE_TRY(std::string value, fields.text("value"));
  const Texts params = {{std::move(key), std::move(value)}};
  HEADRACE_CHECK(check_params(params));
  HEADRACE_CHECK(log_texts(run, params, {}, call));
  return Json::object();
}

Result<Json> Runs::set_tag(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string run, fields.run_id());
  HEADRACE_TRY(std::string key, fields.required_text("key"));
  HEADRACE_TRY(std::string value, fields.text("value"));
  const Texts tags = {{std::move(key), std::move(value)}};
  HEADRACE_CHECK(check_tags(tags));
  HEADRACE_CHECK(log_texts(run, {}, tags, call));
  return Json::object();
}

Result<Json> Runs::delete_tag(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string run, fields.run_id());
  HEADRACE_TRY(const std::string key, fields.required_text("key"));
  const auto remove = [&](Json& state) -> Status {
    if (!std::as_const(state)["tags"].contains(key))
      return Error{Code::kNotFound,
                   concat("There is no tag ", printable_line(key, 100), " of the run ", run)};
    state["tags"].members().erase(key);
    return {};
  };
  HEADRACE_CHECK(change(run, remove, true, call));
  return Json::object();
}

Result<Json> Runs::log_inputs(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string run, fields.run_id());
  HEADRACE_TRY(const auto datasets, fields.objects("datasets"));
  HEADRACE_TRY(const auto models, fields.objects("models"));
  if (datasets.size() > kDatasetsPerCall)
    return Error{Code::kInvalidArgument, concat("a request can log at most ", kDatasetsPerCall, " datasets")};
  Json::Array inputs;
  for (const RequestFields& each : datasets) {
    HEADRACE_TRY(inputs.emplace_back(), read_input(each));
  }
  std::set<std::string> model_ids;
  for (const RequestFields& each : models) {
    HEADRACE_TRY(std::string id, each.required_text("model_id"));
    model_ids.insert(std::move(id));
  }
  const auto add = [&](Json& state) -> Status {
    if (!state["inputs"].is_array()) state["inputs"] = Json::array();
    for (const Json& input : inputs) add_input(state["inputs"], input);
    std::set<std::string> used = model_ids;
    if (const Json& known = state["input_models"]; known.is_array()) {
      for (const Json& id : known.values()) used.insert(id.is_string() ? id.text() : "");
    }
    state["input_models"] = Json(Json::Array(used.begin(), used.end()));
    return {};
  };
  HEADRACE_CHECK(change(run, add, true, call));
  return Json::object();
}

Result<Json> Runs::log_outputs(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string run, fields.run_id());
  HEADRACE_TRY(const auto models, fields.objects("models"));
  std::map<std::string, std::int64_t> steps;
  for (const RequestFields& each : models) {
    HEADRACE_TRY(const std::string id, each.required_text("model_id"));
    HEADRACE_TRY(const auto step, each.integer("step"));
    steps.emplace(id, step.value_or(0));
  }
  const auto add = [&](Json& state) -> Status {
    for (const auto& [id, step] : steps) {
      if (!std::as_const(state)["output_models"].contains(id)) state["output_models"][id] = step;
    }
    return {};
  };
  HEADRACE_CHECK(change(run, add, true, call));
  return Json::object();
}

Result<Json> Runs::log_model(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string run, fields.run_id());
  HEADRACE_TRY(const std::string text, fields.required_text("model_json"));
  auto model = parse_json(text);
  if (!model || !model->is_object())
    return Error{Code::kInvalidArgument, "the parameter 'model_json' must be the text of a JSON object"};
  const auto add = [&](Json& state) -> Status {
    Json& tag = state["tags"][kLoggedModelsTag];
    auto known = tag.is_string() ? parse_json(tag.text()) : Result<Json>(Json::array());
    Json models = known && known->is_array() ? *std::move(known) : Json::array();
    // A client may repeat a request whose answer was lost. The model's id and time show that it is the same.
    const Json::Array& earlier = models.values();
    if (std::ranges::find(earlier, *model) == earlier.end()) models.push_back(*model);
    tag = models.dump();
    return {};
  };
  HEADRACE_CHECK(change(run, add, true, call));
  return Json::object();
}

}  // namespace headrace::mlflow
