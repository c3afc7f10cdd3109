#include "headrace/mlflow/run_view.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/mlflow/state_text.h"
#include "headrace/track/json_number.h"

namespace headrace::mlflow {
namespace {

ColumnValue attribute_of(const RunView& run, const std::string& key) {
  if (key == "run_id") return run.record->id;
  if (key == "run_name") return run_name(*run.state, *run.record);
  if (key == "user_id") return run.state->get_or("user", "");
  if (key == "status") return status_of(*run.state, *run.record);
  if (key == "artifact_uri") return run.artifact_uri;
  if (key == "start_time") return static_cast<double>(start_time_of(*run.state, *run.record));
  const auto ended = end_time_of(*run.state, *run.record);
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

bool is_run_deleted(const Json& state, const ExperimentList& experiments) {
  return state["is_deleted"] == Json(true) || experiments.is_deleted(experiment_of(state));
}

Json run_info_to_json(const RunView& run) {
  Json info = {{"run_id", run.record->id},
               {"run_uuid", run.record->id},
               {"run_name", run_name(*run.state, *run.record)},
               {"experiment_id", experiment_of(*run.state)},
               {"user_id", run.state->get_or("user", "")},
               {"status", status_of(*run.state, *run.record)},
               {"start_time", start_time_of(*run.state, *run.record)},
               {"artifact_uri", run.artifact_uri},
               {"lifecycle_stage", run.is_deleted ? "deleted" : "active"}};
  if (const auto ended = end_time_of(*run.state, *run.record)) info["end_time"] = *ended;
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
               {"tags", pairs_to_json(run_tags(*run.state, *run.record))}};
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
      return {text_at(run_tags(*run.state, *run.record), column.key)};
  }
  return {};
}

std::vector<ColumnValue> order_keys(const RunView& run, const std::vector<SearchOrder>& orders) {
  std::vector<ColumnValue> keys;
  for (const SearchOrder& order : orders) {
    std::vector<ColumnValue> values = run_values(run, order.column);
    keys.push_back(values.empty() ? ColumnValue() : std::move(values.front()));
  }
  return keys;
}

void sort_runs(std::vector<SortedRun>& runs, const std::vector<SearchOrder>& orders) {
  std::ranges::stable_sort(runs, [&](const SortedRun& one, const SortedRun& other) {
    for (std::size_t i = 0; i < orders.size(); ++i) {
      if (value_comes_before(one.keys[i], other.keys[i], orders[i].is_ascending)) return true;
      if (value_comes_before(other.keys[i], one.keys[i], orders[i].is_ascending)) return false;
    }
    return false;
  });
}

}  // namespace headrace::mlflow
