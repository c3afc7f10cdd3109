#pragma once

/// \file A run as MLflow shows it, made of its record, its state and its last points. Pure functions.

#include <map>
#include <string>
#include <vector>

#include "headrace/mlflow/experiments.h"
#include "headrace/mlflow/open_part.h"
#include "headrace/mlflow/records.h"
#include "headrace/mlflow/search_targets.h"
#include "headrace/mlflow/state_log.h"

namespace headrace::mlflow {

inline constexpr std::string_view kRunNameTag = "mlflow.runName";

struct RunView {
  RecordPointer record;
  State state;
  LastPoints points{};
  bool is_deleted = false;  // it, or its experiment
  std::string artifact_uri{};
};

/// Whether MLflow's client has begun the run.
bool is_of_mlflow(const Json& state);
std::string experiment_of(const Json& state);
bool is_run_deleted(const Json& state, const ExperimentList& experiments);
std::string run_name(const RunView& run);
std::map<std::string, std::string> run_params(const Json& state, const RunRecord& record);
std::map<std::string, std::string> run_tags(const RunView& run);

Json run_info_to_json(const RunView& run);
Json run_to_json(const RunView& run);
/// For filters and orders.
std::vector<ColumnValue> run_values(const RunView& run, const SearchColumn& column);

Json last_points_to_json(const LastPoints& points);
LastPoints last_points_from_json(const Json& points);

}  // namespace headrace::mlflow
