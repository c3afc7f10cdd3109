#pragma once

/// \file A run as MLflow shows it, computed from its record and from the state that MLflow's clients have
/// left (docs/formats/mlflow-state.md). Pure functions. `state`: an object, or null if there is none.
/// Malformed members of it count as absent.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/base/json.h"
#include "headrace/track/run_record.h"

namespace headrace::mlflow {

inline constexpr std::string_view kStatesFolder = "_headrace/mlflow";
inline constexpr std::string_view kDefaultExperiment = "0";
inline constexpr std::string_view kRunNameTag = "mlflow.runName";

/// The last point of a metric: the point with the greatest step; with equal steps, the greatest time, then
/// value.
struct LastPoint {
  std::int64_t step = 0;
  std::int64_t time_ms = 0;
  double value = 0;
};
using LastPoints = std::map<std::string, LastPoint>;
bool is_later(const LastPoint& one, const LastPoint& other);
void keep_later(LastPoints& points, const std::string& key, const LastPoint& point);
Json last_points_to_json(const LastPoints& points);
LastPoints last_points_from_json(const Json& points);

/// Reads a number that `number_to_json` wrote; none for anything else.
std::optional<double> read_number(const Json& value);
std::optional<std::int64_t> integer_of(const Json& value);
/// The members of an object whose values are texts; other members are left out.
std::map<std::string, std::string> texts_of(const Json& object);
/// Converts a time in a record to milliseconds since 1970; none if it is empty or no time.
std::optional<std::int64_t> milliseconds_of(const std::string& time);

/// Whether MLflow's client began the run.
bool is_of_mlflow(const Json& state);
std::string experiment_of(const Json& state);
std::string run_name(const Json& state, const RunRecord& record);
/// FINISHED, FAILED, KILLED, RUNNING or SCHEDULED.
std::string status_of(const Json& state, const RunRecord& record);
/// Milliseconds since 1970.
std::int64_t start_time_of(const Json& state, const RunRecord& record);
/// Milliseconds since 1970; none: the run has not ended.
std::optional<std::int64_t> end_time_of(const Json& state, const RunRecord& record);
std::map<std::string, std::string> run_params(const Json& state, const RunRecord& record);
std::map<std::string, std::string> run_tags(const Json& state, const RunRecord& record);

/// Whether any part of the run logs metrics.
bool has_series(const RunRecord& record);
/// Whether the state contains the last points of that part of the record.
bool has_points_of(const Json& state, const RunPart& part);
/// The last points that the state and the record contain. A part that logs metrics may have later points,
/// unless the state contains its points.
LastPoints told_points(const Json& state, const RunRecord& record);
/// Adds the final metrics in the end of a record, for metrics without a point. `told_points` calls it.
void add_end_metrics(const Json& state, const RunRecord& record, LastPoints& points);

}  // namespace headrace::mlflow
