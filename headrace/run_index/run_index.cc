#include "headrace/run_index/run_index.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "headrace/base/bytes.h"
#include "headrace/base/text.h"
#include "headrace/run_index/points_kind.h"

namespace headrace {
namespace {

// Incremented whenever the tables, or what is put into them, change.
constexpr std::int64_t kLayoutVersion = 4;

constexpr std::string_view kSchema = R"(
CREATE TABLE place (root TEXT NOT NULL);
CREATE TABLE runs (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, is_version_1 INTEGER NOT NULL,
  state TEXT NOT NULL, metrics_state TEXT, is_ended INTEGER NOT NULL, status TEXT NOT NULL,
  command TEXT NOT NULL, output TEXT NOT NULL, started TEXT NOT NULL, seconds REAL,
  experiment TEXT NOT NULL DEFAULT '', is_deleted INTEGER NOT NULL DEFAULT 0, name TEXT NOT NULL DEFAULT '',
  user TEXT NOT NULL DEFAULT '', mlflow_status TEXT NOT NULL DEFAULT '', start_ms INTEGER NOT NULL DEFAULT 0,
  end_ms INTEGER, points_kind INTEGER NOT NULL DEFAULT 0, state_number INTEGER NOT NULL DEFAULT 0,
  folder_changes INTEGER NOT NULL DEFAULT 0, UNIQUE (id, is_version_1));
CREATE INDEX runs_by_start ON runs (started, id);
CREATE INDEX runs_to_look_at ON runs (number) WHERE metrics_state IS NULL OR NOT is_ended;
CREATE TABLE objects (run INTEGER, part TEXT, kind INTEGER, number INTEGER, content TEXT NOT NULL,
  PRIMARY KEY (run, part, kind, number)) WITHOUT ROWID;
CREATE TABLE metrics (run INTEGER, name TEXT, value REAL, is_final INTEGER NOT NULL,
  PRIMARY KEY (run, name)) WITHOUT ROWID;
CREATE INDEX metrics_by_value ON metrics (name, value);
CREATE TABLE parameters (run INTEGER, name TEXT, value TEXT NOT NULL, number REAL,
  is_of_mlflow INTEGER NOT NULL, PRIMARY KEY (run, name)) WITHOUT ROWID;
CREATE INDEX parameters_by_value ON parameters (name, number, value);
CREATE TABLE folders (url TEXT, run INTEGER, PRIMARY KEY (url, run)) WITHOUT ROWID;
CREATE INDEX folders_by_run ON folders (run);
CREATE TABLE states (id TEXT PRIMARY KEY, number INTEGER NOT NULL, content TEXT NOT NULL);
CREATE TABLE tags (run INTEGER, name TEXT, value TEXT NOT NULL, PRIMARY KEY (run, name)) WITHOUT ROWID;
CREATE INDEX tags_by_value ON tags (name, value);
CREATE TABLE points (run INTEGER, name TEXT, step INTEGER NOT NULL, time_ms INTEGER NOT NULL, value REAL,
  PRIMARY KEY (run, name)) WITHOUT ROWID;
CREATE VIEW mlflow_metrics AS SELECT run, name, value FROM points UNION ALL
  SELECT m.run, m.name, m.value FROM metrics m JOIN runs r ON r.number = m.run
  WHERE m.is_final AND r.points_kind = 2;  -- kEndPoints
CREATE VIEW mlflow_parameters AS SELECT run, name, value, number FROM parameters WHERE is_of_mlflow)";

enum ObjectKind : std::int64_t { kStart, kEnd, kInput, kOutput, kSeries };

// Adds an object of a record to its part: the last part, or a new one.
Status add_object(const std::vector<SqlValue>& row, std::vector<RunPart>& parts) {
  const std::string& name = text_value(row[0]);
  if (parts.empty() || parts.back().name != name) parts.push_back({.name = name, .start = {}});
  RunPart& part = parts.back();
  const BytesView content = as_bytes(text_value(row[2]));
  switch (integer_value(row[1])) {
    case kStart: {
      HEADRACE_TRY(part.start, parse_run_start(content));
      return {};
    }
    case kEnd: {
      HEADRACE_TRY(part.end, parse_run_end(content));
      return {};
    }
    case kInput: {
      HEADRACE_TRY(part.so_far.inputs.emplace_back(), parse_run_input(content));
      return {};
    }
    case kOutput: {
      HEADRACE_TRY(part.so_far.outputs.emplace_back(), parse_run_output(content));
      return {};
    }
    default: {
      HEADRACE_TRY(part.so_far.series.emplace_back(), parse_run_series(content));
      return {};
    }
  }
}

}  // namespace

Result<RunIndex> RunIndex::open(const std::string& path, const std::string& root_url,
                                DatabaseFailure& failure) {
  return open_database(Database::open(path, kSchema, kLayoutVersion, failure), path.empty(), root_url,
                       failure);
}

Result<RunIndex> RunIndex::open_copy(const std::string& path, const std::string& root_url,
                                     DatabaseFailure& failure) {
  return open_database(Database::open_copy(path, kSchema, kLayoutVersion, failure), true, root_url, failure);
}

std::int64_t RunIndex::layout_version() { return kLayoutVersion; }

Result<RunIndex> RunIndex::open_database(Result<Database> database, bool is_in_memory,
                                         const std::string& root_url, DatabaseFailure& failure) {
  if (!database) return std::move(database).error();
  RunIndex index(*std::move(database));
  index.is_in_memory_ = is_in_memory;
  HEADRACE_CHECK(index.check_tables(failure));
  const auto known = index.root_url();
  Status status;
  if (known && known->empty()) {
    status = index.database_.run({"INSERT INTO place (root) VALUES (?)", {root_url}});
  } else if (known && *known != root_url) {
    status = index.database_.damaged("it is the index of another tracking root");
  } else if (!known) {
    status = known.error();
  }
  failure = index.failure();
  if (!status) return status.error();
  return index;
}

Status RunIndex::check_tables(DatabaseFailure& failure) {
  const auto rows =
      database_.rows({"SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN "
                      "('place', 'runs', 'objects', 'metrics', 'parameters', 'folders', 'states', 'tags', "
                      "'points')"});
  Status status;
  if (!rows) {
    status = rows.error();
  } else if (integer_value(rows->at(0)[0]) != 9) {
    status = database_.damaged("it has other tables");
  }
  failure = database_.failure();
  return status;
}

std::optional<std::string> RunIndex::root_of(const std::string& path) {
  DatabaseFailure failure = DatabaseFailure::kNone;
  auto database = Database::open(path, kSchema, kLayoutVersion, failure);
  if (!database) return std::nullopt;
  auto root = RunIndex(*std::move(database)).root_url();
  return root && !root->empty() ? std::optional(*std::move(root)) : std::nullopt;
}

Result<std::string> RunIndex::root_url() {
  HEADRACE_TRY(const auto rows, database_.rows({"SELECT root FROM place LIMIT 1"}));
  return rows.empty() ? std::string() : text_value(rows[0][0]);
}

Status RunIndex::forget(std::int64_t number) {
  for (const char* const sql : {"DELETE FROM runs WHERE number = ?", "DELETE FROM objects WHERE run = ?",
                                "DELETE FROM metrics WHERE run = ?", "DELETE FROM parameters WHERE run = ?",
                                "DELETE FROM folders WHERE run = ?", "DELETE FROM tags WHERE run = ?",
                                "DELETE FROM points WHERE run = ?"}) {
    HEADRACE_CHECK(database_.run({sql, {number}}));
  }
  return {};
}

Status RunIndex::insert(const RunRecord& run, bool is_version_1, const std::string& state) {
  const std::vector<RunEventFolder> folders = event_folders_of(run);
  const bool has_all_metrics = end_has_all_metrics(run) && folders.empty();
  HEADRACE_CHECK(database_.run(
      {"INSERT INTO runs (id, is_version_1, state, metrics_state, is_ended, status, command, output, "
       "started, "
       "seconds) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
       {run.id, std::int64_t{is_version_1}, state,
        has_all_metrics ? SqlValue(std::string("all")) : SqlValue(), std::int64_t{run.end.has_value()},
        std::string(run_status_name(run.status())), run.start.command, run.start.output, run.start.started,
        run.end ? SqlValue(run.end->seconds) : SqlValue()}}));
  HEADRACE_TRY(const auto rows, database_.rows({"SELECT last_insert_rowid()"}));
  const std::int64_t number = integer_value(rows.at(0)[0]);
  HEADRACE_CHECK(insert_objects(number, run));
  for (const auto& [name, value] : run.end ? run.end->metrics : std::map<std::string, double>()) {
    HEADRACE_CHECK(database_.run(
        {"INSERT INTO metrics (run, name, value, is_final) VALUES (?, ?, ?, 1)", {number, name, value}}));
  }
  HEADRACE_CHECK(write_view(number, run, is_version_1));
  for (const RunEventFolder& folder : folders) {
    HEADRACE_CHECK(database_.run(
        {"INSERT OR IGNORE INTO folders (url, run) VALUES (?, ?)", {folder.series.url, number}}));
  }
  if (!folders.empty()) HEADRACE_CHECK(forget_metrics_of_sharers(number));
  return {};
}

Status RunIndex::insert_objects(std::int64_t number, const RunRecord& run) {
  for (const RunPart& part : run.parts) {
    std::int64_t count = 0;
    const auto add = [&](ObjectKind kind, std::string content) {
      return database_.run({"INSERT INTO objects (run, part, kind, number, content) VALUES (?, ?, ?, ?, ?)",
                            {number, part.name, std::int64_t{kind}, count++, std::move(content)}});
    };
    HEADRACE_CHECK(add(kStart, serialize_run_start(run.id, part.start)));
    if (part.end) HEADRACE_CHECK(add(kEnd, serialize_run_end(run.id, *part.end)));
    for (const Artifact& input : part.so_far.inputs)
      HEADRACE_CHECK(add(kInput, serialize_run_input(run.id, input)));
    for (const Artifact& output : part.so_far.outputs)
      HEADRACE_CHECK(add(kOutput, serialize_run_output(run.id, output)));
    for (const RunSeries& series : part.so_far.series)
      HEADRACE_CHECK(add(kSeries, serialize_run_series(run.id, series)));
  }
  return {};
}

// Ended runs that share folders of event files with this run may have new values there, since this run goes
// on: their metrics must be read again. This is done in the transaction that writes this run, so that no kill
// can come between. `folder_changes` tells the refreshes that are reading those values at the moment.
Status RunIndex::forget_metrics_of_sharers(std::int64_t number) {
  constexpr std::string_view kSharers =
      "is_ended AND number != ? AND number IN "
      "(SELECT other.run FROM folders f JOIN folders other ON other.url = f.url WHERE f.run = ?)";
  HEADRACE_CHECK(database_.run({concat("DELETE FROM points WHERE run IN (SELECT number FROM runs WHERE ",
                                       kSharers, " AND points_kind = ?)"),
                                {number, number, std::int64_t{kReadPoints}}}));
  return database_.run(
      {concat("UPDATE runs SET metrics_state = NULL, folder_changes = folder_changes + 1, points_kind = "
              "CASE points_kind WHEN ? THEN ? ELSE points_kind END WHERE ",
              kSharers),
       {std::int64_t{kReadPoints}, std::int64_t{kUnknownPoints}, number, number}});
}

Status RunIndex::in_snapshot(const std::function<Status()>& read) {
  HEADRACE_CHECK(database_.begin_reading());
  Status status = read();
  Status ended = database_.commit();
  return status ? ended : status;
}

Result<RunRecord> RunIndex::record(const IndexedRun& run) {
  HEADRACE_TRY(std::optional<RunRecord> found, record_if_there(run.number, run.id));
  if (!found) return database_.damaged("a run has no parts");
  return *std::move(found);
}

Result<std::optional<RunRecord>> RunIndex::record_if_there(std::int64_t number, const std::string& id) {
  HEADRACE_TRY(
      const auto rows,
      database_.rows(
          {"SELECT part, kind, content FROM objects WHERE run = ? ORDER BY part, kind, number", {number}}));
  std::vector<RunPart> parts;
  for (const auto& row : rows) {
    if (const Status added = add_object(row, parts); !added) return database_.damaged(added.error().message);
  }
  if (parts.empty()) return std::optional<RunRecord>();
  return std::optional(join_parts(id, std::move(parts)));
}

Result<std::vector<IndexedMetric>> RunIndex::metrics(const IndexedRun& run,
                                                     const std::vector<std::string>& names) {
  std::vector<IndexedMetric> metrics;
  const auto add = [&](const SqlRow& row) {
    const double value = row.is_null(1) ? std::numeric_limits<double>::quiet_NaN() : row.number(1);
    metrics.push_back({std::string(row.text(0)), value, row.integer(2) != 0});
  };
  constexpr std::string_view kSelect = "SELECT name, value, is_final FROM metrics WHERE run = ?";
  if (names.empty()) HEADRACE_CHECK(database_.visit({concat(kSelect, " ORDER BY name"), {run.number}}, add));
  for (const std::string& name : std::set(names.begin(), names.end()))
    HEADRACE_CHECK(database_.visit({concat(kSelect, " AND name = ?"), {run.number, name}}, add));
  metrics.shrink_to_fit();  // tables keep the metrics of many runs
  return metrics;
}

Result<std::vector<std::pair<std::string, std::string>>> RunIndex::parameters(const IndexedRun& run) {
  std::vector<std::pair<std::string, std::string>> parameters;
  HEADRACE_CHECK(
      database_.visit({"SELECT name, value FROM parameters WHERE run = ? ORDER BY name", {run.number}},
                      [&](const SqlRow& row) { parameters.emplace_back(row.text(0), row.text(1)); }));
  return parameters;
}

}  // namespace headrace
