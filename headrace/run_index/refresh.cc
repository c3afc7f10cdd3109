// Reads new and changed records into the index.

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/os/parallel.h"
#include "headrace/run_index/run_index.h"

namespace headrace {
namespace {

constexpr int kReadsAtOnce = 32;
// Other processes wait while a transaction writes, and its changes are in memory until it ends.
constexpr std::size_t kRunsPerTransaction = 256;
constexpr std::uint64_t kBytesPerTransaction = 4 << 20;  // by the sizes in the listing
constexpr std::int64_t kRowsPerTransaction = 50'000;
constexpr std::size_t kStateDigits = 32;
// A run may log a million metrics. At most this many are kept besides those that its end has.
constexpr std::size_t kMostLoggedMetrics = 100'000;

// The state of a run that the next refresh must read again.
constexpr std::string_view kUnsettled = "";

using RunKey = std::pair<std::string, bool>;  // the id, and whether the run is of version 1

struct KnownRun {
  std::int64_t number = 0;
  std::string state;
};

// A run to be read.
struct ChangedRun {
  RunKey key;
  std::vector<ListedPart> parts;
  std::string state;
  std::optional<KnownRun> known;  // the index before the listing
  RunList read{};
};

void add_to_state(Sha256& digest, std::string_view text) {
  const std::string sized = concat(text.size(), ":", text);
  digest.update(as_bytes(sized));
}

void add_to_state(Sha256& digest, const ObjectInfo& object) {
  add_to_state(digest, object.key);
  add_to_state(digest, concat(object.size_bytes));
  add_to_state(digest, object.version.token);
}

std::string finish_state(Sha256& digest) { return hex(digest.finish()).substr(0, kStateDigits); }

std::string state_of(const std::vector<ListedPart>& parts) {
  Sha256 digest;
  for (const ListedPart& part : parts) {
    add_to_state(digest, part.part);
    for (const ObjectInfo& object : part.objects) add_to_state(digest, object);
  }
  return finish_state(digest);
}

std::vector<ChangedRun> runs_of(std::vector<ListedPart> parts) {
  std::vector<ChangedRun> runs;
  for (ListedPart& part : parts) {
    RunKey key{part.run, part.part.empty()};
    if (runs.empty() || runs.back().key != key) runs.push_back({std::move(key), {}, {}, {}});
    runs.back().parts.push_back(std::move(part));
  }
  return runs;
}

// A digest of the listings of all places that `last_values` reads for a run without an end: if the digest
// changes, there are new points.
Result<std::string> series_state(const RunRecord& run, const HistorySource& source) {
  std::vector<std::string> urls;
  for (const RunPart& part : run.parts) {
    for (const RunSeries& series : series_of(part)) {
      if (series.kind == kSegmentsKind) urls.push_back(series.url);
    }
  }
  for (const RunEventFolder& folder : event_folders_of(run)) urls.push_back(folder.series.url);
  Sha256 digest;
  for (const std::string& url : urls) {
    HEADRACE_TRY(const Location place, source.open(url));
    HEADRACE_CHECK(
        place.store->list(folder_prefix(place.key), {.call = source.call}, [&](const ObjectInfo& object) {
          add_to_state(digest, object);
          return true;
        }));
  }
  return finish_state(digest);
}

Result<std::map<RunKey, KnownRun>> known_runs(Database& database) {
  HEADRACE_TRY(const auto rows, database.rows({"SELECT id, is_version_1, number, state FROM runs"}));
  std::map<RunKey, KnownRun> known;
  for (const auto& row : rows) {
    known[{text_value(row[0]), integer_value(row[1]) != 0}] = {integer_value(row[2]), text_value(row[3])};
  }
  return known;
}

Result<std::optional<KnownRun>> known_run(Database& database, const RunKey& key) {
  HEADRACE_TRY(const auto rows,
               database.rows({"SELECT number, state FROM runs WHERE id = ? AND is_version_1 = ?",
                              {key.first, std::int64_t{key.second}}}));
  if (rows.empty()) return std::optional<KnownRun>();
  return std::optional(KnownRun{integer_value(rows[0][0]), text_value(rows[0][1])});
}

// How many runs, from `begin` on, go into one transaction: at least one.
std::size_t batch_size(const std::vector<ChangedRun>& changed, std::size_t begin) {
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  for (; count < std::min(kRunsPerTransaction, changed.size() - begin); ++count) {
    for (const ListedPart& part : changed[begin + count].parts) {
      for (const ObjectInfo& object : part.objects) bytes += object.size_bytes;
    }
    if (count > 0 && bytes > kBytesPerTransaction) break;
  }
  return count;
}

// Commits a transaction that has grown large, and begins the next.
Status bound_transaction(Database& database) {
  if (database.rows_written() < kRowsPerTransaction) return {};
  HEADRACE_CHECK(database.commit());
  return database.begin();
}

bool is_same_state(const std::optional<KnownRun>& one, const std::optional<KnownRun>& other) {
  return one.has_value() == other.has_value() && (!one || one->state == other->state);
}

// The state to store for a run that was read.
std::string kept_state(const ChangedRun& run, const RunRecord& record) {
  const bool may_change_unseen = run.key.second && !record.end;  // a run of version 1
  return run.read.damaged.empty() && !may_change_unseen ? run.state : std::string(kUnsettled);
}

}  // namespace

Result<RefreshReport> RunIndex::refresh_records(const Location& root, const CallOptions& call,
                                                std::optional<std::size_t> most) {
  HEADRACE_TRY(auto known, known_runs(database_));
  HEADRACE_TRY(std::vector<ListedPart> parts, list_run_parts(root, call));
  if (is_in_memory_ && most) parts = newest_runs(std::move(parts), *most);
  std::vector<ChangedRun> changed = runs_of(std::move(parts));
  for (ChangedRun& run : changed) {
    run.state = state_of(run.parts);
    const auto before = known.find(run.key);
    if (before == known.end()) continue;
    run.known = std::move(before->second);
    known.erase(before);
  }
  std::erase_if(changed, [](const ChangedRun& run) { return run.known && run.known->state == run.state; });
  // The remaining runs are gone: they become changes without parts.
  for (auto& [key, run] : known) changed.push_back({key, {}, {}, std::move(run)});

  RefreshReport report;
  for (std::size_t begin = 0, count = 0; begin < changed.size(); begin += count) {
    count = batch_size(changed, begin);
    HEADRACE_CHECK(parallel_for(kReadsAtOnce, count, [&](std::size_t i) -> Status {
      ChangedRun& run = changed[begin + i];
      HEADRACE_TRY(run.read, read_listed_runs(root, run.parts, 1, call));
      return {};
    }));
    HEADRACE_CHECK(database_.begin());
    for (std::size_t i = begin; i < begin + count; ++i) {
      ChangedRun& run = changed[i];
      HEADRACE_TRY(const std::optional<KnownRun> now, known_run(database_, run.key));
      if (is_same_state(now, run.known)) {
        if (now) HEADRACE_CHECK(forget(now->number));
        if (run.parts.empty() && !run.key.second)
          HEADRACE_CHECK(database_.run({"DELETE FROM states WHERE id = ?", {run.key.first}}));
        for (const RunRecord& record : run.read.runs)
          HEADRACE_CHECK(insert(record, run.key.second, kept_state(run, record)));
      }
      report.read += run.read.runs.size();
      std::ranges::move(run.read.damaged, std::back_inserter(report.damaged));
      run = {};
      HEADRACE_CHECK(bound_transaction(database_));
    }
    HEADRACE_CHECK(database_.commit());
  }
  return report;
}

struct RunIndex::Pending {
  std::int64_t number = 0;
  std::string id;
  std::string state;
  std::string metrics_state;
  std::int64_t folder_changes = 0;
  std::optional<RunRecord> record{};  // none if another process has replaced the run meanwhile
  bool has_changed = false;
  std::map<std::string, double> values{};
  std::string damage{};
};

Result<std::vector<RunIndex::Pending>> RunIndex::pending_metrics(bool are_ended) {
  HEADRACE_TRY(
      const auto rows,
      database_.rows({concat("SELECT number, id, state, metrics_state, folder_changes FROM runs WHERE ",
                             are_ended ? "is_ended AND metrics_state IS NULL" : "NOT is_ended")}));
  std::vector<Pending> pending;
  for (const auto& row : rows)
    pending.push_back({integer_value(row[0]), text_value(row[1]), text_value(row[2]), text_value(row[3]),
                       integer_value(row[4])});
  return pending;
}

// Runs that go on come first: if they share folders of event files with ended runs, the ended runs are read
// after them.
Result<RefreshReport> RunIndex::refresh_metrics(const HistorySource& source) {
  RefreshReport report;
  std::mutex mutex;  // many threads read
  HistorySource one_at_a_time = source;
  one_at_a_time.warn = [&](const std::string& message) {
    const std::scoped_lock lock(mutex);
    source.warn(message);
  };
  for (const bool are_ended : {false, true}) {
    HEADRACE_TRY(std::vector<Pending> pending, pending_metrics(are_ended));
    HEADRACE_CHECK(read_metrics(std::move(pending), one_at_a_time, report));
  }
  return report;
}

namespace {

// An error that concerns a single run becomes a message.
Status keep_damage(Status status, std::string& damage) {
  if (status || !concerns_one_record(status.error().code)) return status;
  damage = status.error().message;
  return {};
}

}  // namespace

Status RunIndex::read_metrics(std::vector<Pending> pending, const HistorySource& source,
                              RefreshReport& report) {
  const auto read = [&](Pending& run) -> Status {
    std::string state = "all";
    if (!run.record->end) {
      HEADRACE_TRY(state, series_state(*run.record, source));
    }
    if (state == run.metrics_state) return {};
    HEADRACE_TRY(run.values, last_values(*run.record, source));
    if (run.values.size() > kMostLoggedMetrics) {
      run.damage = concat("tables of runs show only the first ", kMostLoggedMetrics, " of ",
                          run.values.size(), " metrics of the run ", run.id, ", by name");
      run.values.erase(std::next(run.values.begin(), kMostLoggedMetrics), run.values.end());
    }
    run.metrics_state = std::move(state);
    run.has_changed = true;
    return {};
  };
  for (std::size_t begin = 0; begin < pending.size(); begin += kRunsPerTransaction) {
    const std::size_t count = std::min(kRunsPerTransaction, pending.size() - begin);
    for (std::size_t i = begin; i < begin + count; ++i) {
      HEADRACE_TRY(pending[i].record, record_if_there(pending[i].number, pending[i].id));
    }
    HEADRACE_CHECK(parallel_for(kReadsAtOnce, count, [&](std::size_t i) -> Status {
      Pending& run = pending[begin + i];
      return run.record ? keep_damage(read(run), run.damage) : Status{};
    }));
    HEADRACE_CHECK(database_.begin());
    for (std::size_t i = begin; i < begin + count; ++i) {
      const Pending run = std::exchange(pending[i], {});
      if (!run.damage.empty()) report.damaged.push_back(run.damage);
      if (!run.has_changed) continue;
      HEADRACE_TRY(const bool is_written, write_metrics(run));
      report.read += is_written ? 1 : 0;
      HEADRACE_CHECK(bound_transaction(database_));
    }
    HEADRACE_CHECK(database_.commit());
  }
  return {};
}

// Returns false if another process has meanwhile replaced the run, or a run that shares its folders of event
// files.
Result<bool> RunIndex::write_metrics(const Pending& pending) {
  HEADRACE_TRY(
      const auto now,
      database_.rows({"SELECT 1 FROM runs WHERE number = ? AND id = ? AND state = ? AND folder_changes = ?",
                      {pending.number, pending.id, pending.state, pending.folder_changes}}));
  if (now.empty()) return false;
  HEADRACE_CHECK(database_.run(
      {"UPDATE runs SET metrics_state = ? WHERE number = ?", {pending.metrics_state, pending.number}}));
  HEADRACE_CHECK(database_.run({"DELETE FROM metrics WHERE run = ? AND NOT is_final", {pending.number}}));
  for (const auto& [name, value] : pending.values) {
    HEADRACE_CHECK(
        database_.run({"INSERT OR IGNORE INTO metrics (run, name, value, is_final) VALUES (?, ?, ?, 0)",
                       {pending.number, name, value}}));
  }
  if (!pending.record->end) HEADRACE_CHECK(forget_metrics_of_sharers(pending.number));
  return true;
}

}  // namespace headrace
