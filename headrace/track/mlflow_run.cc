#include "headrace/track/mlflow_run.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "headrace/base/iso_time.h"
#include "headrace/base/text.h"
#include "headrace/track/json_number.h"

namespace headrace::mlflow {

bool is_later(const LastPoint& one, const LastPoint& other) {
  return std::tie(one.step, one.time_ms, one.value) > std::tie(other.step, other.time_ms, other.value);
}

void keep_later(LastPoints& points, const std::string& key, const LastPoint& point) {
  const auto [known, is_new] = points.try_emplace(key, point);
  if (!is_new && is_later(point, known->second)) known->second = point;
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

std::optional<double> read_number(const Json& value) {
  if (value.is_number()) return value.as<double>();
  if (!value.is_string()) return std::nullopt;
  const double number = number_from_json(value);
  if (std::isnan(number) && value.text() != "NaN") return std::nullopt;
  return number;
}

std::optional<std::int64_t> integer_of(const Json& value) {
  if (!value.is_integer()) return std::nullopt;
  return parse_number<std::int64_t>(value.dump());
}

std::map<std::string, std::string> texts_of(const Json& object) {
  std::map<std::string, std::string> out;
  if (!object.is_object()) return out;
  for (const auto& [name, value] : object.members()) {
    if (value.is_string()) out.emplace(name, value.text());
  }
  return out;
}

std::optional<std::int64_t> milliseconds_of(const std::string& time) {
  const auto parsed = parse_iso_time(time);
  if (!parsed) return std::nullopt;
  std::int64_t fraction_ms = 0;  // dropped by parse_iso_time
  if (const std::size_t dot = time.find('.'); dot != time.npos)
    fraction_ms = parse_number<std::int64_t>(std::string_view(time).substr(dot + 1, 3)).value_or(0);
  return std::chrono::duration_cast<std::chrono::milliseconds>(parsed->time_since_epoch()).count() +
         fraction_ms;
}

bool is_of_mlflow(const Json& state) { return state["is_mlflow"] == Json(true); }

std::string experiment_of(const Json& state) {
  const Json& given = state["experiment"];
  return given.is_string() ? given.text() : std::string(kDefaultExperiment);
}

std::string run_name(const Json& state, const RunRecord& record) {
  if (const Json& name = state["name"]; name.is_string() && !name.text().empty()) return name.text();
  const auto parameters = record.parameters();
  const auto named = parameters.find("name");
  return named == parameters.end() || named->second.empty() ? record.id : named->second;
}

std::string status_of(const Json& state, const RunRecord& record) {
  if (const Json& status = state["status"]; status.is_string()) return status.text();
  switch (record.status()) {
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

std::int64_t start_time_of(const Json& state, const RunRecord& record) {
  const auto given = integer_of(state["started"]);
  return given.value_or(milliseconds_of(record.start.started).value_or(0));
}

std::optional<std::int64_t> end_time_of(const Json& state, const RunRecord& record) {
  if (state.contains("ended")) return integer_of(state["ended"]);
  return record.end ? milliseconds_of(record.end->ended) : std::nullopt;
}

// A run that MLflow made has its params in its state; the record repeats them.
std::map<std::string, std::string> run_params(const Json& state, const RunRecord& record) {
  std::map<std::string, std::string> params = texts_of(state["params"]);
  if (!is_of_mlflow(state)) params.merge(record.parameters());
  return params;
}

std::map<std::string, std::string> run_tags(const Json& state, const RunRecord& record) {
  std::map<std::string, std::string> tags = texts_of(state["tags"]);
  if (is_of_mlflow(state)) return tags;
  std::map<std::string, std::string> own = {{std::string(kRunNameTag), run_name(state, record)},
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

bool has_series(const RunRecord& record) {
  return std::ranges::any_of(record.parts, [](const RunPart& part) {
    return part.end ? !part.end->series.empty() : !part.so_far.series.empty();
  });
}

bool has_points_of(const Json& state, const RunPart& part) {
  const Json& parts = state["parts"];
  return parts.is_array() && std::ranges::find(parts.values(), Json(part.name)) != parts.values().end();
}

LastPoints told_points(const Json& state, const RunRecord& record) {
  LastPoints points = last_points_from_json(state["last_points"]);
  add_end_metrics(state, record, points);
  return points;
}

void add_end_metrics(const Json& state, const RunRecord& record, LastPoints& points) {
  if (is_of_mlflow(state) || !record.end) return;
  const std::int64_t ended = milliseconds_of(record.end->ended).value_or(0);
  for (const auto& [key, value] : record.end->metrics) points.try_emplace(key, LastPoint{0, ended, value});
}

}  // namespace headrace::mlflow
