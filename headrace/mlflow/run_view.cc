#include "headrace/mlflow/run_view.h"

#include "headrace/base/text.h"
#include "headrace/mlflow/state_text.h"
#include "headrace/track/json_number.h"

namespace headrace::mlflow {
namespace {

std::string status_of(const RunView& run) {
  if (const Json& status = (*run.state)["status"]; status.is_string()) return status.text();
  switch (run.record->status()) {
    case RunStatus::kFinished:
      return "FINISHED";
    case RunStatus::kFailed:
      return "FAILED";
    case RunStatus::kStopped:
      return "KILLED";
    case RunStatus::kUnfinished:
      break;
  }
  return "RUNNING";
}

std::optional<std::int64_t> integer_of(const Json& value) {
  if (!value.is_integer()) return std::nullopt;
  return parse_number<std::int64_t>(value.dump());
}

std::int64_t start_time_of(const RunView& run) {
  const auto given = integer_of((*run.state)["started"]);
  return given.value_or(milliseconds_of(run.record->start.started).value_or(0));
}

std::optional<std::int64_t> end_time_of(const RunView& run) {
  if (run.state->contains("ended")) return integer_of((*run.state)["ended"]);
  return run.record->end ? milliseconds_of(run.record->end->ended) : std::nullopt;
}

ColumnValue attribute_of(const RunView& run, const std::string& key) {
  if (key == "run_id") return run.record->id;
  if (key == "run_name") return run_name(run);
  if (key == "user_id") return run.state->get_or("user", "");
  if (key == "status") return status_of(run);
  if (key == "artifact_uri") return run.artifact_uri;
  if (key == "start_time") return static_cast<double>(start_time_of(run));
  const auto ended = end_time_of(run);
  return ended ? ColumnValue(static_cast<double>(*ended)) : ColumnValue();
}

ColumnValue text_at(const std::map<std::string, std::string>& texts, const std::string& key) {
  const auto found = texts.find(key);
  return found == texts.end() ? ColumnValue() : ColumnValue(found->second);
}

ColumnValue text_of(const Json& value) {
  return value.is_string() ? ColumnValue(value.text()) : ColumnValue();
}

std::vector<ColumnValue> dataset_values(const RunView& run, const std::string& key) {
  std::vector<ColumnValue> out;
  const Json& inputs = (*run.state)["inputs"];
  if (!inputs.is_array()) return out;
  for (const Json& input : inputs.values())
    out.push_back(text_of(key == "context" ? input["tags"]["mlflow.data.context"] : input["dataset"][key]));
  return out;
}

Json inputs_to_json(const Json& state) {
  Json::Array datasets, models;
  if (const Json& inputs = state["inputs"]; inputs.is_array()) {
    for (const Json& input : inputs.values()) {
      Json dataset = Json::object();
      for (const auto& [name, value] : texts_of(input["dataset"])) dataset[name] = value;
      datasets.push_back({{"dataset", std::move(dataset)}, {"tags", pairs_to_json(texts_of(input["tags"]))}});
    }
  }
  if (const Json& used = state["input_models"]; used.is_array()) {
    for (const Json& model : used.values()) models.push_back({{"model_id", model}});
  }
  return {{"dataset_inputs", std::move(datasets)}, {"model_inputs", std::move(models)}};
}

Json outputs_to_json(const Json& state) {
  Json::Array models;
  if (const Json& made = state["output_models"]; made.is_object()) {
    for (const auto& [model, step] : made.members()) models.push_back({{"model_id", model}, {"step", step}});
  }
  return {{"model_outputs", std::move(models)}};
}

}  // namespace

bool is_of_mlflow(const Json& state) { return state["is_mlflow"] == Json(true); }

std::string experiment_of(const Json& state) {
  const Json& given = state["experiment"];
  return given.is_string() ? given.text() : std::string(kDefaultExperiment);
}

bool is_run_deleted(const Json& state, const ExperimentList& experiments) {
  return state["is_deleted"] == Json(true) || experiments.is_deleted(experiment_of(state));
}

std::string run_name(const RunView& run) {
  if (const Json& name = (*run.state)["name"]; name.is_string() && !name.text().empty()) return name.text();
  const auto parameters = run.record->parameters();
  const auto named = parameters.find("name");
  return named == parameters.end() || named->second.empty() ? run.record->id : named->second;
}

// A run that MLflow made has its params in the states; the record repeats them.
std::map<std::string, std::string> run_params(const Json& state, const RunRecord& record) {
  std::map<std::string, std::string> params = texts_of(state["params"]);
  if (!is_of_mlflow(state)) params.merge(record.parameters());
  return params;
}

std::map<std::string, std::string> run_tags(const RunView& run) {
  std::map<std::string, std::string> tags = texts_of((*run.state)["tags"]);
  if (is_of_mlflow(*run.state)) return tags;
  const RunRecord& record = *run.record;
  std::map<std::string, std::string> own = {{std::string(kRunNameTag), run_name(run)},
                                            {"mlflow.source.name", join(record.start.command_line, " ")},
                                            {"mlflow.source.type", "LOCAL"},
                                            {"headrace.command", record.start.command}};
  if (record.end && !record.end->error.empty()) own["headrace.error"] = record.end->error;
  for (const Artifact& input : record.inputs())
    own[concat("headrace.input.", input.name.empty() ? "data" : input.name)] = input.url;
  for (const Artifact& output : record.outputs())
    own[concat("headrace.output.", output.name.empty() ? "output" : output.name)] = output.url;
  for (const auto& [name, version] : record.versions()) own[concat("headrace.version.", name)] = version;
  tags.merge(own);
  return tags;
}

Json run_info_to_json(const RunView& run) {
  Json info = {{"run_id", run.record->id},
               {"run_uuid", run.record->id},
               {"run_name", run_name(run)},
               {"experiment_id", experiment_of(*run.state)},
               {"user_id", run.state->get_or("user", "")},
               {"status", status_of(run)},
               {"start_time", start_time_of(run)},
               {"artifact_uri", run.artifact_uri},
               {"lifecycle_stage", run.is_deleted ? "deleted" : "active"}};
  if (const auto ended = end_time_of(run)) info["end_time"] = *ended;
  return info;
}

Json run_to_json(const RunView& run) {
  Json::Array metrics;
  for (const auto& [key, point] : run.points) {
    metrics.push_back({{"key", key},
                       {"value", number_to_json(point.value)},
                       {"timestamp", point.time_ms},
                       {"step", point.step},
                       {"run_id", run.record->id}});
  }
  Json data = {{"metrics", std::move(metrics)},
               {"params", pairs_to_json(run_params(*run.state, *run.record))},
               {"tags", pairs_to_json(run_tags(run))}};
  return {{"info", run_info_to_json(run)},
          {"data", std::move(data)},
          {"inputs", inputs_to_json(*run.state)},
          {"outputs", outputs_to_json(*run.state)}};
}

std::vector<ColumnValue> run_values(const RunView& run, const SearchColumn& column) {
  switch (column.entity) {
    case Entity::kAttribute:
      return {attribute_of(run, column.key)};
    case Entity::kDataset:
      return dataset_values(run, column.key);
    case Entity::kMetric: {
      const auto found = run.points.find(column.key);
      return {found == run.points.end() ? ColumnValue() : ColumnValue(found->second.value)};
    }
    case Entity::kParam:
      if (is_of_mlflow(*run.state)) return {text_of((*run.state)["params"][column.key])};
      return {text_at(run_params(*run.state, *run.record), column.key)};
    case Entity::kTag:
      if (is_of_mlflow(*run.state)) return {text_of((*run.state)["tags"][column.key])};
      return {text_at(run_tags(run), column.key)};
  }
  return {};
}

Json last_points_to_json(const LastPoints& points) {
  Json out = Json::object();
  for (const auto& [key, point] : points)
    out[key] = Json::array({point.step, point.time_ms, number_to_json(point.value)});
  return out;
}

LastPoints last_points_from_json(const Json& points) {
  LastPoints out;
  if (!points.is_object()) return out;
  for (const auto& [key, point] : points.members()) {
    if (!point.is_array() || point.values().size() != 3) continue;
    const auto step = integer_of(point.at(0)), time_ms = integer_of(point.at(1));
    const auto value = read_number(point.at(2));
    if (step && time_ms && value) out[key] = {*step, *time_ms, *value};
  }
  return out;
}

}  // namespace headrace::mlflow
