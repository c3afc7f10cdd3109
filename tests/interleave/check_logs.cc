#include "tests/interleave/check_logs.h"

#include <algorithm>
#include <set>

#include "headrace/artifact/artifact.h"
#include "headrace/artifact/verify_artifact.h"
#include "headrace/base/text.h"
#include "headrace/log/recover_segments.h"
#include "headrace/metrics/metric_log.h"
#include "headrace/metrics/recover.h"
#include "headrace/record/tfrecord.h"
#include "headrace/track/run_keys.h"
#include "tests/interleave/log_commands.h"
#include "tests/interleave/logged_value.h"

namespace headrace::interleave {
namespace {

bool is_of_metrics(const std::string& log_key) { return log_key.find(kMetricsPrefix) != std::string::npos; }

bool is_of_media(const std::string& log_key) { return log_key.find(kMediaPrefix) != std::string::npos; }

// Why the series is not the first of the values, times `sign`, at least so many; empty: it is.
std::string compare(const MetricSeries& series, const std::vector<double>& values, double sign,
                    std::size_t least) {
  const std::vector<double>& found = series.values;
  const bool are_equal =
      found.size() <= values.size() &&
      std::ranges::equal(
          found,
          std::vector<double>(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(found.size())), {},
          [&](double value) { return sign * value; });
  if (!are_equal) return concat(found.size(), " points are not the first of ", values.size());
  if (found.size() < least) return concat(found.size(), " points are left of ", least);
  return {};
}

// Why the log is not what it should be; empty: it is.
std::string problem_of(const Location& place, const LoggedValues& logged, std::size_t least,
                       bool is_shortened) {
  const auto log = MetricLog::open(place, {});
  if (!log) return is_shortened && log.error().code == Code::kDataLoss ? "" : log.error().message;
  if (const Status verified = log->verify(); !verified) return verified.error().message;
  for (const auto& [name, sign] : {std::pair("loss", 1.0), std::pair("minus loss", -1.0)}) {
    const auto series = log->read(name);
    if (!series) return series.error().message;
    std::string problem = compare(*series, logged.values, sign, is_shortened ? 0 : least);
    if (!problem.empty()) return concat(name, ": ", problem);
  }
  return {};
}

// The logs as they are if all processes are killed, and `runs recover` has written what they have left.
World recovered(const World& world, bool may_refuse, std::vector<std::string>& damage) {
  World after = clone(world);
  const auto open = [&](const std::string& url) -> Result<Location> {
    return location(after.out, "out", url.substr(std::string_view("memory://out/").size()));
  };
  const std::string state = concat(after.machine->path(), "/headrace");
  const auto check = [&](const Status& status) {
    if (!status && !may_refuse) damage.push_back(concat("it cannot be recovered: ", status.error().message));
  };
  for (const RecoveredLog& log : recover_metrics(concat(state, "/metrics"), open, {})) check(log.status);
  for (const RecoveredSegments& log : recover_segments(concat(state, kSegmentJournals), open, {}))
    check(log.status);
  return after;
}

// The values of the media of one part, sorted.
std::vector<double> media_values(const World& world, const std::string& folder,
                                 std::vector<std::string>& damage) {
  std::vector<double> values;
  const auto segments = list_all(*world.out, concat(folder, "/"));
  for (const ObjectInfo& segment : *segments) {
    const auto read = read_object(*world.out, segment.key, 1 << 20);
    const std::size_t begin = segment.key.ends_with("/events") ? 0 : kMediaHeader.size();
    if (!read || read->data.size() < begin || (read->data.size() - begin) % sizeof(double) != 0) {
      damage.push_back(concat(segment.key, " does not hold whole records"));
      continue;
    }
    for (std::size_t at = begin; at < read->data.size(); at += sizeof(double))
      values.push_back(load_little_endian<double>(read->data.data() + at));
  }
  std::ranges::sort(values);
  return values;
}

// The first `least` of the logged values are there; each once, and no others.
void check_media(const World& world, const std::string& folder, const LoggedValues& logged, std::size_t least,
                 std::vector<std::string>& damage) {
  const std::vector<double> found = media_values(world, folder, damage);
  if (std::ranges::adjacent_find(found) != found.end())
    damage.push_back(concat(folder, " has a record twice"));
  std::vector<double> all = logged.values;
  std::ranges::sort(all);
  if (!std::ranges::includes(all, found)) damage.push_back(concat(folder, " has a record of nobody"));
  for (std::size_t i = 0; i < least; ++i) {
    if (!std::ranges::binary_search(found, logged.values[i]))
      damage.push_back(concat(folder, " has lost record ", i, " of ", least));
  }
}

// The values in a file of a log of requests.
void read_file(const World& world, const std::string& key, std::vector<double>& values,
               std::vector<std::string>& damage) {
  const auto read = read_object(*world.out, key, 1 << 20);
  if (!read) return damage.push_back(read.error().message);
  RecordScanner scanner(read->data);
  BytesView record;
  ScanOutcome outcome = scanner.next(record);
  for (; outcome == ScanOutcome::kRecord; outcome = scanner.next(record)) {
    const auto value = logged_value(record);
    if (!value) return damage.push_back(concat(key, ": ", value.error().message));
    values.push_back(*value);
  }
  if (outcome != ScanOutcome::kEnd) damage.push_back(concat(key, " does not end with a whole record"));
}

}  // namespace

void check_metric_logs(const World& world, std::vector<std::string>& damage) {
  const auto logs = world.ledger->logs();
  if (std::ranges::none_of(logs, [](const auto& log) { return is_of_metrics(log.first); })) return;
  const std::set<std::string> shortened = world.out->shortened();
  const World after = recovered(world, !shortened.empty(), damage);
  for (const auto& [key, logged] : logs) {
    if (!is_of_metrics(key)) continue;
    const bool is_shortened = shortened.contains(key);
    std::string problem = problem_of(location(world.out, "out", key), logged, logged.stored, is_shortened);
    if (!problem.empty()) damage.push_back(concat(key, ": ", problem));
    problem = problem_of(location(after.out, "out", key), logged, logged.acknowledged, is_shortened);
    if (!problem.empty()) damage.push_back(concat(key, ", once it is recovered: ", problem));
  }
}

void check_media_logs(const World& world, std::vector<std::string>& damage) {
  const auto logs = world.ledger->logs();
  if (std::ranges::none_of(logs, [](const auto& log) { return is_of_media(log.first); })) return;
  const bool is_shortened = !world.out->shortened().empty();
  const World after = recovered(world, is_shortened, damage);
  for (const auto& [folder, logged] : logs) {
    if (!is_of_media(folder)) continue;
    check_media(world, folder, logged, is_shortened ? 0 : logged.stored, damage);
    check_media(after, folder, logged, is_shortened ? 0 : logged.acknowledged, damage);
  }
}

void check_request_logs(const World& world, std::vector<std::string>& damage) {
  std::vector<double> found;
  const auto files = list_all(*world.out, concat(kRequestLogs, "/"));
  for (const ObjectInfo& file : *files) read_file(world, file.key, found, damage);
  std::ranges::sort(found);
  if (std::ranges::adjacent_find(found) != found.end()) damage.emplace_back("a request is logged twice");
  std::set<double> asked;
  const bool is_shortened = world.out->shortened().contains(std::string(kRequestLogs));
  for (const auto& [key, logged] : world.ledger->logs()) {
    if (is_of_metrics(key) || is_of_media(key)) continue;
    asked.insert(logged.values.begin(), logged.values.end());
    for (std::size_t i = 0; i < logged.stored && !is_shortened; ++i) {
      if (!std::ranges::binary_search(found, logged.values[i]))
        damage.push_back(concat("a request that was stored is gone from ", key));
    }
  }
  if (!std::ranges::includes(asked, found)) damage.emplace_back("a record is of no request");
}

void check_artifacts(const World& world, std::vector<std::string>& damage) {
  if (world.out->shortened().contains(std::string(kArtifacts))) return;
  StoreRegistry stores(Environment{});
  stores.put(Url{"memory", "data", ""}, world.data);
  const Location root = location(world.out, "out", "x");
  const auto names = list_artifacts(root);
  if (!names) damage.push_back(names.error().message);
  if (!names) return;
  ArtifactVerifier verifier(stores, root, {});
  for (const std::string& name : *names) {
    const Status verified = verifier.verify_all(name);
    if (!verified) damage.push_back(concat("artifact ", name, ": ", verified.error().message));
  }
  for (const BadEntry& bad : verifier.bad())
    damage.push_back(concat(bad.artifact, " ", bad.path, " ", bad.url, ": ", bad.problem));
}

}  // namespace headrace::interleave
