// Runs as MLflow shows them: reads the states of MLflow's clients, and combines them with the records.

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/os/parallel.h"
#include "headrace/run_index/points_kind.h"
#include "headrace/run_index/run_index.h"
#include "headrace/store/numbered.h"
#include "headrace/track/mlflow_states.h"

namespace headrace {

namespace {

constexpr int kStatesAtOnce = 32;
constexpr std::size_t kStatesPerTransaction = 256;
constexpr std::uint64_t kStateBytesPerTransaction = 4 << 20;
constexpr std::uint64_t kStateBytesMax = 16 << 20;
constexpr std::string_view kStateFormat = "headrace.mlflow.run";

// A state to be read. Number 0: the states of the run were removed.
struct NewState {
  std::string id;
  LatestNumber latest;
  std::string content{};
  std::string damage{};
};

std::string text_in(const Json& value) { return value.is_string() ? value.text() : ""; }

// The word that `runs ls` shows for a status of MLflow; empty: the status of the record is shown.
std::string_view shown_status(const Json& state) {
  const std::string status = text_in(state["status"]);
  if (status == "FINISHED") return run_status_name(RunStatus::kFinished);
  if (status == "FAILED") return run_status_name(RunStatus::kFailed);
  if (status == "KILLED") return run_status_name(RunStatus::kStopped);
  if (status == "RUNNING" || status == "SCHEDULED") return run_status_name(RunStatus::kUnfinished);
  return "";
}

PointsKind points_kind(const Json& state, const RunRecord& run) {
  for (const RunPart& part : run.parts) {
    const bool has_series = part.end ? !part.end->series.empty() : !part.so_far.series.empty();
    if (has_series && !mlflow::has_points_of(state, part)) return kUnknownPoints;
  }
  const bool has_only_end = run.end && !mlflow::is_of_mlflow(state) && !state.contains("last_points");
  return has_only_end ? kEndPoints : kToldPoints;
}

Status read_new_state(const Location& root, NewState& state, const CallOptions& call) {
  const std::string prefix = concat(root.at(mlflow::kStatesFolder).key, "/runs/", state.id, "/");
  auto read = read_object(*root.store, numbered_key(prefix, state.latest.number), kStateBytesMax, call);
  const Status checked = read ? check_mlflow_state(read->data, kStateFormat) : Status(read.error());
  if (checked) {
    state.content = as_text(read->data);
  } else if (concerns_one_record(checked.error().code)) {
    state.damage = concat("the state of the run ", state.id, " in MLflow: ", checked.error().message);
  } else {
    return checked;
  }
  return {};
}

// How many states, from `begin` on, go into one transaction: at least one.
std::size_t states_together(const std::vector<NewState>& states, std::size_t begin) {
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  for (; count < std::min(kStatesPerTransaction, states.size() - begin); ++count) {
    bytes += states[begin + count].latest.size_bytes;
    if (count > 0 && bytes > kStateBytesPerTransaction) break;
  }
  return count;
}

// States of the indexed runs that are newer than those in the index.
Result<std::vector<NewState>> new_states(Database& database,
                                         const std::map<std::string, LatestNumber>& latest) {
  HEADRACE_TRY(const auto rows, database.rows({"SELECT r.id, coalesce(s.number, 0) FROM runs r LEFT JOIN "
                                               "states s ON s.id = r.id WHERE NOT r.is_version_1"}));
  std::vector<NewState> changed;
  for (const auto& row : rows) {
    const auto listed = latest.find(text_value(row[0]));
    const LatestNumber now = listed == latest.end() ? LatestNumber() : listed->second;
    const auto known = static_cast<std::uint64_t>(integer_value(row[1]));
    if (now.number > known || (now.number == 0 && known > 0)) changed.push_back({text_value(row[0]), now});
  }
  return changed;
}

}  // namespace

Result<RefreshReport> RunIndex::refresh_states(const Location& root, const CallOptions& call) {
  RefreshReport report;
  const std::string prefix = concat(root.at(mlflow::kStatesFolder).key, "/runs/");
  auto latest = latest_numbers(*root.store, prefix, call);
  if (!latest && latest.error().code == Code::kPermissionDenied) {
    report.damaged.push_back(
        concat("tags and states of MLflow's clients cannot be read: ", latest.error().message));
    return report;
  }
  if (!latest) return std::move(latest).error();
  HEADRACE_TRY(std::vector<NewState> changed, new_states(database_, *latest));
  for (std::size_t begin = 0, count = 0; begin < changed.size(); begin += count) {
    count = states_together(changed, begin);
    HEADRACE_CHECK(parallel_for(kStatesAtOnce, count, [&](std::size_t i) -> Status {
      NewState& state = changed[begin + i];
      return state.latest.number > 0 ? read_new_state(root, state, call) : Status{};
    }));
    HEADRACE_CHECK(database_.begin());
    for (std::size_t i = begin; i < begin + count; ++i) {
      const NewState state = std::exchange(changed[i], {});
      if (!state.damage.empty()) {
        report.damaged.push_back(state.damage);
        continue;
      }
      HEADRACE_CHECK(keep_state(state.id, state.latest.number, state.content));
      ++report.read;
    }
    HEADRACE_CHECK(database_.commit());
  }
  return report;
}

// Numbers only grow, so a slow refresh replaces nothing that a later refresh wrote. Number 0: the states were
// removed.
Status RunIndex::keep_state(const std::string& id, std::uint64_t number, const std::string& content) {
  if (number == 0) {
    HEADRACE_CHECK(database_.run({"DELETE FROM states WHERE id = ?", {id}}));
  } else {
    HEADRACE_CHECK(database_.run(
        {"INSERT INTO states (id, number, content) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE "
         "SET number = excluded.number, content = excluded.content WHERE number < excluded.number",
         {id, static_cast<std::int64_t>(number), content}}));
  }
  HEADRACE_TRY(const auto rows,
               database_.rows({"SELECT number FROM runs WHERE id = ? AND NOT is_version_1", {id}}));
  for (const auto& row : rows) {
    HEADRACE_TRY(const auto record, record_if_there(integer_value(row[0]), id));
    if (record) HEADRACE_CHECK(write_view(integer_value(row[0]), *record, false));
  }
  return {};
}

// Writes the combination of the record and its state.
Status RunIndex::write_view(std::int64_t number, const RunRecord& run, bool is_version_1) {
  HEADRACE_TRY(const auto rows,
               database_.rows({"SELECT number, content FROM states WHERE id = ?", {run.id}}));
  const bool has_state = !rows.empty() && !is_version_1;
  Json state;
  if (has_state) {
    auto parsed = parse_json(text_value(rows[0][1]));
    if (!parsed) return database_.damaged("a state is not JSON");
    state = *std::move(parsed);
  }
  const std::string_view status = shown_status(state);
  const auto ended = mlflow::end_time_of(state, run);
  const PointsKind kind = points_kind(state, run);
  HEADRACE_CHECK(database_.run(
      {"UPDATE runs SET status = ?, experiment = ?, is_deleted = ?, name = ?, user = ?, mlflow_status = ?, "
       "start_ms = ?, end_ms = ?, points_kind = ?, state_number = ? WHERE number = ?",
       {std::string(status.empty() ? run_status_name(run.status()) : status), mlflow::experiment_of(state),
        std::int64_t{state["is_deleted"] == Json(true)}, mlflow::run_name(state, run), text_in(state["user"]),
        mlflow::status_of(state, run), mlflow::start_time_of(state, run),
        ended ? SqlValue(*ended) : SqlValue(), std::int64_t{kind}, has_state ? integer_value(rows[0][0]) : 0,
        number}}));
  for (const char* const table : {"tags", "parameters", "points"})
    HEADRACE_CHECK(database_.run({concat("DELETE FROM ", table, " WHERE run = ?"), {number}}));
  for (const auto& [name, value] : mlflow::run_tags(state, run)) {
    HEADRACE_CHECK(
        database_.run({"INSERT INTO tags (run, name, value) VALUES (?, ?, ?)", {number, name, value}}));
  }
  const std::map<std::string, std::string> shown = mlflow::run_params(state, run);
  std::map<std::string, std::string> all = shown;
  all.merge(run.parameters());
  for (const auto& [name, value] : all) {
    const auto as_number = finite_number(value);
    HEADRACE_CHECK(database_.run(
        {"INSERT INTO parameters (run, name, value, number, is_of_mlflow) VALUES (?, ?, ?, ?, ?)",
         {number, name, value, as_number ? SqlValue(*as_number) : SqlValue(),
          std::int64_t{shown.contains(name)}}}));
  }
  return kind == kToldPoints ? write_points(number, mlflow::told_points(state, run)) : Status{};
}

Status RunIndex::write_points(std::int64_t number, const mlflow::LastPoints& points) {
  for (const auto& [name, point] : points) {
    HEADRACE_CHECK(
        database_.run({"INSERT INTO points (run, name, step, time_ms, value) VALUES (?, ?, ?, ?, ?)",
                       {number, name, point.step, point.time_ms, point.value}}));
  }
  return {};
}

Result<MlflowRun> RunIndex::mlflow_run(const FoundMlflowRun& run) {
  HEADRACE_TRY(std::optional<RunRecord> record, record_if_there(run.number, run.id));
  if (!record) return database_.damaged("a run has no parts");
  MlflowRun out{.record = *std::move(record)};
  HEADRACE_TRY(const auto states,
               database_.rows({"SELECT number, content FROM states WHERE id = ?", {run.id}}));
  if (!states.empty()) {
    auto state = parse_json(text_value(states[0][1]));
    if (!state) return database_.damaged("a state is not JSON");
    out.state = *std::move(state);
    out.state_number = static_cast<std::uint64_t>(integer_value(states[0][0]));
  }
  HEADRACE_TRY(
      const auto kinds,
      database_.rows({"SELECT points_kind, folder_changes FROM runs WHERE number = ?", {run.number}}));
  const std::int64_t kind = kinds.empty() ? kUnknownPoints : integer_value(kinds[0][0]);
  if (!kinds.empty()) out.folder_changes = integer_value(kinds[0][1]);
  if (kind == kEndPoints) out.points = mlflow::told_points(out.state, out.record);
  if (kind == kEndPoints || kind == kUnknownPoints) return out;
  out.points.emplace();
  HEADRACE_CHECK(database_.visit(
      {"SELECT name, step, time_ms, value FROM points WHERE run = ?", {run.number}}, [&](const SqlRow& row) {
        const double value = row.is_null(3) ? std::numeric_limits<double>::quiet_NaN() : row.number(3);
        out.points->insert_or_assign(std::string(row.text(0)),
                                     mlflow::LastPoint{row.integer(1), row.integer(2), value});
      }));
  return out;
}

Status RunIndex::keep_points(const FoundMlflowRun& found, const MlflowRun& run,
                             const mlflow::LastPoints& points) {
  HEADRACE_CHECK(database_.begin());
  HEADRACE_TRY(
      const auto rows,
      database_.rows({"SELECT 1 FROM runs WHERE number = ? AND state_number = ? AND folder_changes = ? AND "
                      "points_kind = ?",
                      {found.number, static_cast<std::int64_t>(run.state_number), run.folder_changes,
                       std::int64_t{kUnknownPoints}}}));
  if (!rows.empty()) {
    HEADRACE_CHECK(write_points(found.number, points));
    HEADRACE_CHECK(database_.run(
        {"UPDATE runs SET points_kind = ? WHERE number = ?", {std::int64_t{kReadPoints}, found.number}}));
  }
  return database_.commit();
}

}  // namespace headrace
