#pragma once

/// \file A run as MLflow shows it, computed from its record, its state and its last points. Pure functions.

#include <map>
#include <string>
#include <vector>

#include "headrace/mlflow/experiments.h"
#include "headrace/mlflow/open_part.h"
#include "headrace/mlflow/records.h"
#include "headrace/mlflow/search_targets.h"
#include "headrace/mlflow/state_log.h"
#include "headrace/track/mlflow_run.h"

namespace headrace::mlflow {

struct RunView {
  RecordPointer record;
  State state;
  LastPoints points{};
  bool may_get_points = false;  // more points may come to the store
  bool is_deleted = false;      // the run or its experiment is deleted
  std::string artifact_uri{};
};

bool is_run_deleted(const Json& state, const ExperimentList& experiments);

Json run_info_to_json(const RunView& run);
Json run_to_json(const RunView& run);
/// The values of a run in a column, for filters and orders. Only a column of datasets may have several.
std::vector<ColumnValue> run_values(const RunView& run, const SearchColumn& column);

/// A run that is being sorted.
struct SortedRun {
  std::size_t place = 0;          // index that the caller has given to the run
  std::vector<ColumnValue> keys;  // one value for each order, from order_keys
};
std::vector<ColumnValue> order_keys(const RunView& run, const std::vector<SearchOrder>& orders);
void sort_runs(std::vector<SortedRun>& runs, const std::vector<SearchOrder>& orders);

}  // namespace headrace::mlflow
