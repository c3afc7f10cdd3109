#pragma once

/// \file The index of the runs of one tracking root: a local copy of what tables of runs need, which can be
/// made again from the store at any time. docs/decisions/run-index.md.

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

/// Filters and orders of runs can name `run_id`, `command`, `status`, `output`, `started`, `seconds`,
/// `metrics.NAME`, `params.NAME` and `tags.NAME`.
const SearchTarget& indexed_run_target();

/// The first runs in an order.
struct RunQuery {
  SearchFilter filter{};
  /// None: the newest first. Runs that are equal in it come newest first, those without the value last;
  /// NaN before these. Params that are numbers come before other texts.
  std::optional<SearchOrder> order{};
  std::size_t most = 0;
  /// Only runs that wrote to this URL or below it; empty: all.
  std::string output{};
};

struct IndexedMetric {
  std::string name;
  double value = 0;
  bool is_final = false;  // the end of the record has it
};

/// A line of a table.
struct IndexedRun {
  std::int64_t number = 0;  // within the index, as long as it is open
  /// Its place in the order: runs of several indexes can be merged by these.
  int rank = 0;
  ColumnValue key{};

  std::string id;
  std::string command;
  std::string status;
  std::string output;
  std::string started;
  std::optional<double> seconds{};  // none: it has not ended
};

/// Whether one comes before the other in the order of a query; none: the newest first.
bool run_comes_before(const IndexedRun& one, const IndexedRun& other,
                      const std::optional<SearchOrder>& order);

/// A search of MLflow's (mlflow_find.cc). Columns are those that MLflow has, but for `artifact_uri` and
/// datasets, of which the index knows nothing.
struct MlflowQuery {
  SearchFilter filter{};
  std::vector<SearchOrder> orders{};  // the last by `run_id`, so that no two are equal
  std::vector<std::string> experiments{};
  std::vector<std::string> deleted_experiments{};  // among these
  bool wants_active = true;
  bool wants_deleted = false;
  std::vector<std::string> changing_runs{};  // ids: their points are not in the store
  std::size_t most = 0;

  /// Whether the filter or an order names a metric.
  bool names_metrics() const;
};

struct FoundMlflowRun {
  std::int64_t number = 0;
  std::string id;
  std::vector<ColumnValue> keys{};  // of the orders of the query
};

/// All that a search shows of a run.
struct MlflowRun {
  RunRecord record;
  std::uint64_t state_number = 0;  // 0: it has no state
  Json state{};
  std::int64_t folder_changes = 0;             // how often other runs have changed its folders of event files
  std::optional<mlflow::LastPoints> points{};  // none: they are to be read, and may be kept by `keep_points`
};

struct RefreshReport {
  /// Why a record or its metrics could not be read, one message each.
  std::vector<std::string> damaged{};
  /// Records that were read, since they are new or have changed.
  std::size_t read = 0;
};

/// Not thread-safe. After an error of the database (`failure`), only destroy it: open_index.h goes on.
class RunIndex {
 public:
  /// `path`: its file, which is made if it is missing; empty: in memory. `root_url`: of the tracking root.
  /// \error kFailedPrecondition  see `Database::open`
  static Result<RunIndex> open(const std::string& path, const std::string& root_url,
                               DatabaseFailure& failure);

  /// A copy in memory of the file at `path`, which another process may keep locked. \error as `open`
  static Result<RunIndex> open_copy(const std::string& path, const std::string& root_url,
                                    DatabaseFailure& failure);

  /// Number of the layout, in the names of files: programs of two versions share none.
  static std::int64_t layout_version();

  /// The tracking root whose index the file at `path` is; none if it is no index that can be read.
  static std::optional<std::string> root_of(const std::string& path);

  DatabaseFailure failure() const { return database_.failure(); }

  /// Reads the records below `root` that are new or have changed, and forgets runs that are gone. Lists the
  /// records once; reads many at a time. `most`: only the newest so many are asked for; in memory, where what
  /// is read serves one command, others are not read. \error of the store or the database
  Result<RefreshReport> refresh_records(const Location& root, const CallOptions& call = {},
                                        std::optional<std::size_t> most = {});
  /// The same for last values of metrics that no end of a record has: of runs that have not ended, and in
  /// event files. Call it after `refresh_records`.
  Result<RefreshReport> refresh_metrics(const HistorySource& source);

  /// The same for the states of MLflow's clients (docs/formats/mlflow-state.md): one listing, and a read of
  /// each that is new. Call it after `refresh_records`.
  Result<RefreshReport> refresh_states(const Location& root, const CallOptions& call = {});

  /// Prepares what `find` does, so that a query that is impossible costs no refresh. \error of the database
  Status check(const RunQuery& query);

  /// Calls `read` in a snapshot, which does not change while other processes write. Outside a snapshot,
  /// another process may replace a run after `find` has found it.
  /// REQUIRES: `read` does not refresh. \error what `read` returns, or of the database
  Status in_snapshot(const std::function<Status()>& read);

  Result<std::vector<IndexedRun>> find(const RunQuery& query);
  /// By name. `names`: only these; empty: all, of which a run may have 100,000 beside those of its end.
  Result<std::vector<IndexedMetric>> metrics(const IndexedRun& run,
                                             const std::vector<std::string>& names = {});
  /// By name.
  Result<std::vector<std::pair<std::string, std::string>>> parameters(const IndexedRun& run);
  /// REQUIRES: within the snapshot in which the run was found
  Result<RunRecord> record(const IndexedRun& run);

  /// The first runs of a search that the index can judge: not those that `unsettled_mlflow_runs` returns.
  Result<std::vector<FoundMlflowRun>> find_mlflow_runs(const MlflowQuery& query);
  /// Runs of the query's experiments and stages that its filter may keep or not: the changing ones and, if it
  /// names metrics, those whose points the index does not know. The first `most` whose numbers are greater
  /// than `after`, by number. Without keys.
  Result<std::vector<FoundMlflowRun>> unsettled_mlflow_runs(
      const MlflowQuery& query, std::int64_t after = 0,
      std::int64_t most = std::numeric_limits<std::int64_t>::max());
  /// REQUIRES: within the snapshot in which the run was found
  Result<MlflowRun> mlflow_run(const FoundMlflowRun& run);
  /// Keeps points that were read from the store, unless record, state or a shared folder of event files
  /// have changed since.
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
