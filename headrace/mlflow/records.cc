#include "headrace/mlflow/records.h"

#include <algorithm>

#include "headrace/base/iso_time.h"
#include "headrace/base/text.h"
#include "headrace/track/recorder.h"
#include "headrace/track/run_keys.h"
#include "headrace/track/runs.h"

namespace headrace::mlflow {
namespace {

// A record names places without the query of the root's URL, which only concerns the driver.
Result<Location> open_recorded_place(StoreRegistry& stores, const Location& root, const std::string& url) {
  const std::string below = concat(recorded_url(root), "/");
  if (url.starts_with(below)) return root.at(std::string_view(url).substr(below.size()));
  return stores.open(url);
}

}  // namespace

bool has_ended(const RunRecord& record) {
  return std::ranges::all_of(record.parts, [](const RunPart& part) { return part.end.has_value(); });
}

Result<std::map<std::string, RecordPointer>> Records::all(const CallOptions& call) {
  Signatures found;
  const std::string runs = root_.at(kRunsPrefix).key;
  const std::string parts = root_.at(kRunPartsPrefix).key;
  const auto list_version_1 = [&](const ObjectInfo& object) {
    std::string name = object.key.substr(runs.size());
    if (name.ends_with('/')) name.pop_back();
    if (name != "v2" && name != "catalog") found[name] = {name};
    return true;
  };
  HEADRACE_CHECK(root_.store->list(runs, {.collapse_folders = true, .call = call}, list_version_1));
  HEADRACE_CHECK(root_.store->list(parts, {.call = call}, [&](const ObjectInfo& object) {
    const std::string_view rest = std::string_view(object.key).substr(parts.size());
    found[std::string(rest.substr(0, rest.find('/')))].push_back(object.key);
    return true;
  }));
  return read(found, false, call);
}

Result<RecordPointer> Records::one(const std::string& run, const CallOptions& call) {
  HEADRACE_CHECK(check_run_name(run));
  Signature keys;
  HEADRACE_CHECK(root_.store->list(root_.at(concat(kRunPartsPrefix, run, "/")).key, {.call = call},
                                   [&](const ObjectInfo& object) {
                                     keys.push_back(object.key);
                                     return true;
                                   }));
  if (keys.empty()) keys = {run};
  HEADRACE_TRY(const auto records, read({{run, keys}}, true, call));
  const auto found = records.find(run);
  if (found != records.end()) return found->second;
  return Error{Code::kNotFound, concat("Run with id=", run, " not found below ", root_.describe())};
}

Result<std::map<std::string, RecordPointer>> Records::read(const Signatures& found, bool is_strict,
                                                           const CallOptions& call) {
  std::map<std::string, RecordPointer> records;
  std::vector<std::string> missing;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [run, signature] : found) {
      const auto known = known_.find(run);
      if (known != known_.end() && known->second.signature == signature) {
        records.emplace(run, known->second.record);
      } else {
        missing.push_back(run);
      }
    }
  }
  if (missing.empty()) return records;
  HEADRACE_TRY(RunList list, read_runs(root_, missing, call));
  if (is_strict && !list.damaged.empty()) return Error{Code::kDataLoss, list.damaged.front()};
  for (const std::string& message : list.damaged) warn_(concat("left out a run: ", message));
  const std::scoped_lock lock(mutex_);
  for (RunRecord& run : list.runs) {
    const std::string id = run.id;
    auto record = std::make_shared<const RunRecord>(std::move(run));
    known_[id] = {.signature = found.at(id), .record = record};
    records.emplace(id, std::move(record));
  }
  return records;
}

Result<MetricsPointer> Records::metrics(const RunRecord& record, const CallOptions& call) {
  if (has_ended(record)) {
    const std::scoped_lock lock(mutex_);
    const auto known = known_.find(record.id);
    if (known != known_.end() && known->second.record.get() == &record && known->second.metrics)
      return known->second.metrics;
  }
  HistorySource source;
  source.open = [this](const std::string& url) { return open_recorded_place(stores_, root_, url); };
  source.warn = warn_;
  source.call = {.deadline = call.deadline};  // the metrics keep it for later reads
  HEADRACE_TRY(RunMetrics metrics, metrics_of(record, source));
  auto read = std::make_shared<const RunMetrics>(std::move(metrics));
  if (has_ended(record) && read->are_ended()) {
    const std::scoped_lock lock(mutex_);
    const auto known = known_.find(record.id);
    if (known != known_.end() && known->second.record.get() == &record) known->second.metrics = read;
  }
  return MetricsPointer(read);
}

}  // namespace headrace::mlflow
