#pragma once

/// \file The index of the runs of one tracking root: a local copy of the data that tables of runs need. It
/// can be made again from the store at any time. docs/decisions/run-index.md.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/base/json.h"
#include "headrace/history/history.h"
#include "headrace/run_index/database.h"
#include "headrace/store/location.h"
#include "headrace/track/mlflow_run.h"
#include "headrace/track/run_record.h"
#include "headrace/track/runs.h"
#include "headrace/track/search_filter.h"

namespace headrace {

/// The columns that filters and orders of runs can name: `run_id`, `command`, `status`, `output`, `started`,
/// `seconds`, `metrics.NAME`, `params.NAME` and `tags.NAME`.
const SearchTarget& indexed_run_target();

/// Asks for the first runs in an order.
struct RunQuery {
  SearchFilter filter{};
  /// None: the newest first. Runs with equal values come newest first. Runs without the value come last; runs
  /// whose value is NaN come just before those. Params that are numbers come before other texts.
  std::optional<SearchOrder> order{};
  std::size_t most = 0;
  /// Only runs whose output is this URL or below it; empty: all.
  std::string output{};
};

struct IndexedMetric {
  std::string name;
  double value = 0;
  bool is_final = false;  // it is in the end of the record
};

/// A row of a table of runs.
struct IndexedRun {
  std::int64_t number = 0;  // of the run in the index, while the index is open
  /// Position in the order of the query. Runs of several indexes can be merged by `rank` and `key`.
  int rank = 0;
  ColumnValue key{};

  std::string id;
  std::string command;
  std::string status;
  std::string output;
  std::string started;
  std::optional<double> seconds{};  // none: the run has not ended
};

/// Whether `one` comes before `other` in the order of a query; no order: the newest first.
bool run_comes_before(const IndexedRun& one, const IndexedRun& other,
                      const std::optional<SearchOrder>& order);

/// A search by MLflow's API. The filter and the orders may name MLflow's columns, except `artifact_uri` and
/// datasets, which the index does not have.
struct MlflowQuery {
  SearchFilter filter{};
  std::vector<SearchOrder> orders{};  // the last one is by `run_id`, so that no two runs are equal
  std::vector<std::string> experiments{};
  std::vector<std::string> deleted_experiments{};  // those of `experiments` that are deleted
  bool wants_active = true;
  bool wants_deleted = false;
  std::vector<std::string> changing_runs{};  // ids of runs whose latest points are not in the store yet
  std::size_t most = 0;

  /// Whether the filter or an order names a metric.
  bool names_metrics() const;
};

struct FoundMlflowRun {
  std::int64_t number = 0;
  std::string id;
  std::vector<ColumnValue> keys{};  // one for each order of the query
};

/// Everything that a search shows of a run.
struct MlflowRun {
  RunRecord record;
  std::uint64_t state_number = 0;  // 0: the run has no state
  Json state{};
  std::int64_t folder_changes = 0;             // changes by other runs in its folders of event files
  std::optional<mlflow::LastPoints> points{};  // none: read them, then call `keep_points`
};

struct RefreshReport {
  /// One message for each record, or metrics of a run, that could not be read.
  std::vector<std::string> damaged{};
  /// Number of runs that were read because they are new or have changed.
  std::size_t read = 0;
};

/// An open index. Not thread-safe. After an error of the database (see `failure`), only destroy it;
/// open_index.h then falls back to another index.
class RunIndex {
 public:
  /// Opens an index. `path`: its file, which is created if it is missing; empty: in memory. `root_url`: of
  /// the tracking root.
  /// \error kFailedPrecondition  see `Database::open`; a file with the index of another root is kDamaged
  static Result<RunIndex> open(const std::string& path, const std::string& root_url,
                               DatabaseFailure& failure);

  /// Copies the file at `path` into memory, even while another process keeps it locked. \error as `open`
  static Result<RunIndex> open_copy(const std::string& path, const std::string& root_url,
                                    DatabaseFailure& failure);

  /// Version of the layout, which is part of the file names: so programs with two layouts share no file.
  static std::int64_t layout_version();

  /// URL of the tracking root whose index is in the file at `path`; none if that is no readable index.
  static std::optional<std::string> root_of(const std::string& path);

  DatabaseFailure failure() const { return database_.failure(); }

  /// Reads the records below `root` that are new or have changed, and forgets runs that are gone. Cost: one
  /// listing of the records, then one read for each object of a changed record, many at a time. `most`: the
  /// caller needs only the newest `most` runs. Then an index in memory, which serves one command, reads no
  /// others.
  /// \error of the store or the database; a record that cannot be read is in the report instead
  Result<RefreshReport> refresh_records(const Location& root, const CallOptions& call = {},
                                        std::optional<std::size_t> most = {});
  /// Reads the last values of metrics that are not in the end of a record: those of runs that have not ended,
  /// and those in event files. Keeps at most 100,000 for each run. Call it after `refresh_records`. Errors
  /// and report as there.
  Result<RefreshReport> refresh_metrics(const HistorySource& source);

  /// Reads the latest states that MLflow's clients have written (docs/formats/mlflow-state.md), if they are
  /// new. Cost: one listing, and one read for each new state. Call it after `refresh_records`. Errors and
  /// report as there; if listing the states is not permitted, the report says so.
  Result<RefreshReport> refresh_states(const Location& root, const CallOptions& call = {});

  /// Prepares the statements of `find`, so that an impossible query is found before a refresh. \error of the
  /// database
  Status check(const RunQuery& query);

  /// Calls `read` within a snapshot, which does not change while other processes write. Outside a snapshot,
  /// another process may replace a run after `find` returned it.
  /// REQUIRES: `read` calls no refresh and no keep_points. \error as `read`, or of the database
  Status in_snapshot(const std::function<Status()>& read);

  /// The first `query.most` runs that match, in the order of the query. \error of the database
  Result<std::vector<IndexedRun>> find(const RunQuery& query);
  /// Metrics of a run, sorted by name. `names`: only these; empty: all, which may be 100,000 and those of its
  /// end.
  Result<std::vector<IndexedMetric>> metrics(const IndexedRun& run,
                                             const std::vector<std::string>& names = {});
  /// Params of a run, sorted by name.
  Result<std::vector<std::pair<std::string, std::string>>> parameters(const IndexedRun& run);
  /// REQUIRES: within the snapshot in which the run was found
  Result<RunRecord> record(const IndexedRun& run);

  /// The first `query.most` runs that match, in the order of the query, without those that
  /// `unsettled_mlflow_runs` returns.
  Result<std::vector<FoundMlflowRun>> find_mlflow_runs(const MlflowQuery& query);
  /// Runs in the query's experiments and stages for which the index alone cannot tell whether they match:
  /// `changing_runs` and, if the query names metrics, runs whose points are not in the index. Sorted by
  /// number: the first `most` runs whose numbers are greater than `after`. Without keys.
  Result<std::vector<FoundMlflowRun>> unsettled_mlflow_runs(
      const MlflowQuery& query, std::int64_t after = 0,
      std::int64_t most = std::numeric_limits<std::int64_t>::max());
  /// REQUIRES: within the snapshot in which the run was found
  Result<MlflowRun> mlflow_run(const FoundMlflowRun& run);
  /// Keeps points of a run that were read from the store. Does nothing if the record, the state, or a shared
  /// folder of event files has changed since `mlflow_run` returned `run`.
  /// REQUIRES: the run has ended, and no points will follow; not in a snapshot
  Status keep_points(const FoundMlflowRun& found, const MlflowRun& run, const mlflow::LastPoints& points);

 private:
  struct Pending;
  explicit RunIndex(Database database) : database_(std::move(database)) {}

  static Result<RunIndex> open_database(Result<Database> database, bool is_in_memory,
                                        const std::string& root_url, DatabaseFailure& failure);
  Status check_tables(DatabaseFailure& failure);
  Result<std::string> root_url();
  Status forget(std::int64_t number);
  Status insert(const RunRecord& run, bool is_version_1, const std::string& state);
  Status write_view(std::int64_t number, const RunRecord& run, bool is_version_1);
  Status write_points(std::int64_t number, const mlflow::LastPoints& points);
  Status keep_state(const std::string& id, std::uint64_t number, const std::string& content);
  Status insert_objects(std::int64_t number, const RunRecord& run);
  Status forget_metrics_of_sharers(std::int64_t number);
  Result<std::optional<RunRecord>> record_if_there(std::int64_t number, const std::string& id);
  Result<std::vector<Pending>> pending_metrics(bool are_ended);
  Status read_metrics(std::vector<Pending> pending, const HistorySource& source, RefreshReport& report);
  Result<bool> write_metrics(const Pending& pending);

  Database database_;
  bool is_in_memory_ = false;
};

}  // namespace headrace
