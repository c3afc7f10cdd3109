#pragma once

/// \file MLflow's runs: the calls of its API for runs.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "headrace/mlflow/artifacts.h"
#include "headrace/mlflow/experiments.h"
#include "headrace/mlflow/logged_models.h"
#include "headrace/mlflow/open_parts.h"
#include "headrace/mlflow/run_view.h"
#include "headrace/run_index/open_index.h"

namespace headrace::mlflow {

/// The parsed fields of a search.
struct RunSearch {
  SearchFilter filter{};
  std::vector<SearchOrder> orders{};  // the last one is by `run_id`
  std::string page_token{};
  std::size_t limit = 0;
  std::vector<std::string> experiments{};
  bool wants_active = true;
  bool wants_deleted = false;
};

/// The calls of MLflow's API for runs: fields in, JSON out. Each call except log_immediately may wait for the
/// store. Thread-safe; other processes may change the same runs. The guarantees of an answer are in
/// docs/decisions/mlflow-server.md.
class Runs {
 public:
  /// All references must outlive it. `cache` is TrackingServiceOptions::cache.
  Runs(Location root, const PartSurroundings& parts, Experiments& experiments, LoggedModels& models,
       ClockMs now_ms, std::function<void(const std::string&)> warn, std::optional<std::string> cache);

  Result<Json> create(const RequestFields& fields, const CallOptions& call);
  Result<Json> get(const RequestFields& fields, const CallOptions& call);
  Result<Json> update(const RequestFields& fields, const CallOptions& call);
  Result<Json> remove(const RequestFields& fields, const CallOptions& call);
  Result<Json> restore(const RequestFields& fields, const CallOptions& call);
  Result<Json> search(const RequestFields& fields, const CallOptions& call);

  /// Logs a batch. REQUIRES, also for log_immediately: read_log_batch or read_log_metric has checked the
  /// batch
  Status log_batch(const LogBatch& batch, const CallOptions& call);
  /// As log_batch, but never waits for the store. Returns false, and logs nothing, if that is impossible: the
  /// batch has params or tags, a point names a model, the run is not open, or earlier points of a metric must
  /// be read.
  Result<bool> log_immediately(const LogBatch& batch);
  Result<Json> log_param(const RequestFields& fields, const CallOptions& call);
  Result<Json> set_tag(const RequestFields& fields, const CallOptions& call);
  Result<Json> delete_tag(const RequestFields& fields, const CallOptions& call);
  Result<Json> log_inputs(const RequestFields& fields, const CallOptions& call);
  Result<Json> log_outputs(const RequestFields& fields, const CallOptions& call);
  Result<Json> log_model(const RequestFields& fields, const CallOptions& call);

  /// Returns the body of the answer as text.
  Result<std::string> metric_history(const RequestFields& fields, const CallOptions& call);
  Result<Json> list_artifacts(const RequestFields& fields, const CallOptions& call);

  /// Writes all points to the store, and ends the parts of this process as stopped. In MLflow the runs
  /// continue. Returns a message for each failure.
  std::vector<std::string> end_parts();

 private:
  using Texts = std::vector<std::pair<std::string, std::string>>;

  std::shared_ptr<StateLog> log_named(const std::string& run);
  Result<std::shared_ptr<StateLog>> log_of(const std::string& run, const CallOptions& call);
  Result<State> change(const std::string& run, const StateLog::Edit& edit, bool must_be_active,
                       const CallOptions& call);
  RunView bare_view(const RecordPointer& record, State state, const ExperimentList& experiments);
  Result<RunView> view(const RecordPointer& record, State state, const ExperimentList& experiments,
                       const CallOptions& call);
  Result<RunView> view_of(const std::string& run, const CallOptions& call);
  Status add_stored_points(RunView& run, const CallOptions& call);
  std::string artifact_folder(const std::string& run, const Json& state, const ExperimentList& experiments);

  Status log_points(const std::string& run, std::span<const LoggedPoint> points, const CallOptions& call);
  Status log_texts(const std::string& run, const Texts& params, const Texts& tags, const CallOptions& call);
  Result<PartPointer> part_of(const std::string& run, const CallOptions& call);
  Result<PartPointer> part_to_end(const std::string& run, const CallOptions& call);
  Result<PartPointer> start_part(const std::string& run, const CallOptions& call);
  Status end_part(const PartPointer& part, const std::string& status, const Json& state,
                  const CallOptions& call);
  Status end_unfinished(const PartPointer& part, const CallOptions& call);
  void end_surplus(const CallOptions& call);
  Status set_status(const std::string& run, const std::string& status, std::optional<std::int64_t> ended,
                    const std::string& name, const CallOptions& call);
  Result<std::vector<RunView>> wanted_runs(const RunSearch& search, const CallOptions& call);
  Result<std::optional<Json>> search_index(const RunSearch& search, const CallOptions& call);
  struct IndexedViews;
  Result<Json> search_in(RunIndex& index, const MlflowQuery& query, const RunSearch& search,
                         const ExperimentList& experiments, const CallOptions& call);
  Status refresh(RunIndex& index, const CallOptions& call);
  Status settle(RunIndex& index, const MlflowQuery& query, const ExperimentList& experiments,
                const CallOptions& call);
  Status read_views(IndexedViews& all, const ExperimentList& experiments, const CallOptions& call);
  static Status keep_points(RunIndex& index, const MlflowQuery& query, const IndexedViews& all);
  Result<RunView> indexed_view(const MlflowRun& run, const ExperimentList& experiments,
                               const CallOptions& call);

  const Location root_;
  const PartSurroundings& surroundings_;
  Experiments& experiments_;
  LoggedModels& models_;
  const ClockMs now_ms_;
  const std::function<void(const std::string&)> warn_;
  const IndexFolder indexes_;
  Records records_;
  OpenParts open_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<StateLog>> states_;  // of existing runs
};

}  // namespace headrace::mlflow
