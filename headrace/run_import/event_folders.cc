#include "headrace/run_import/event_folders.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/events/log_layout.h"
#include "headrace/metrics/event_metrics.h"
#include "headrace/record/event_stream.h"
#include "headrace/run_import/allowed_files.h"
#include "headrace/track/created_once.h"
#include "headrace/track/recorder.h"

namespace headrace {
namespace {

constexpr std::string_view kSource = "tensorboard";
constexpr std::uint64_t kMostFirstBytes = 1 << 20;  // the first event of a file ends within this
constexpr std::string_view kOwnFolder = "/_headrace/";
constexpr std::string_view kTopFolder = ".";  // the name that lay_out_logs gives it

std::chrono::milliseconds milliseconds_of(double seconds) {
  constexpr double kMost = 1e12;
  return std::chrono::milliseconds(
      std::isfinite(seconds) ? static_cast<std::int64_t>(std::clamp(seconds, 0.0, kMost) * 1000) : 0);
}

struct FirstEvent {
  std::string digest;
  double wall_time_s = 0;
};

Result<FirstEvent> read_first_event(const Location& folder, const ObjectInfo& file, const CallOptions& call) {
  Bytes bytes(std::min(file.size_bytes, kMostFirstBytes));
  ReadOptions options;
  options.call = call;
  HEADRACE_CHECK(read_exactly(*folder.store, file.key, bytes, options));
  EventStream stream;
  stream.append(bytes);
  StreamEvent event;
  if (stream.next(event) != StreamOutcome::kEvent)
    return Error{Code::kDataLoss,
                 concat(folder.store->describe(file.key), " does not begin with an event: remove the file")};
  return FirstEvent{sha256_hex(event.record), event.event.wall_time_s};
}

Status copy_file(const Location& folder, const ObjectInfo& file, const Location& to,
                 const CallOptions& call) {
  WriteOptions options;
  options.call = call;
  HEADRACE_TRY(OnceUpload upload, OnceUpload::start(to.at(last_segment(file.key)), options));
  HEADRACE_CHECK(
      read_in_pieces(*folder.store, file, call, [&](BytesView piece) { return upload.append(piece); }));
  return upload.finish();
}

}  // namespace

Result<EventFolderRuns> event_folder_runs(const Location& folder, const CallOptions& call) {
  const std::string prefix = folder_prefix(folder.key);
  const AllowedFiles allowed({folder});
  EventFolderRuns found;
  std::vector<ObjectInfo> objects;
  HEADRACE_CHECK(folder.store->list(prefix, {.call = call}, [&](const ObjectInfo& object) {
    const std::string name = object.key.substr(prefix.size());
    const bool is_own = concat("/", name).find(kOwnFolder) != std::string::npos;
    if (is_own || object.size_bytes == 0 || !is_event_file(object.key)) return true;
    if (allowed.leads_out(folder.at(name))) {
      found.problems.push_back(concat(folder.store->describe(object.key),
                                      " was left out: it is a symbolic link that leads out of the source"));
    } else {
      objects.push_back(object);
    }
    return true;
  }));
  for (const auto& [name, logs] : lay_out_logs(prefix, objects)) {
    EventFolderRun each{.run = {}, .folder = name == kTopFolder ? folder : folder.at(name), .files = {}};
    for (const auto& [log, segments] : logs)
      each.files.insert(each.files.end(), segments.begin(), segments.end());
    const auto first = read_first_event(folder, each.files.front(), call);
    if (!first && first.error().code != Code::kDataLoss) return first.error();
    if (!first) {
      found.problems.push_back(first.error().message);
      continue;
    }
    const std::string id(last_segment(each.files.front().key));
    each.run = {
        .identity = concat(kSource, "/", id, "/", first->digest), .source = std::string(kSource), .id = id};
    each.run.name = name == kTopFolder ? std::string(last_segment(folder.key)) : name;
    each.run.place = recorded_url(each.folder);
    each.run.started = milliseconds_of(first->wall_time_s);
    for (const ObjectInfo& file : each.files)
      each.run.state += concat(last_segment(file.key), " ", file.size_bytes, "\n");
    found.runs.push_back(std::move(each));
  }
  return found;
}

Status import_event_folder(const EventFolderRun& from, ImportedRecord& record, const CallOptions& call) {
  HEADRACE_TRY(const Location to, record.add_event_files());
  for (const ObjectInfo& file : from.files) HEADRACE_CHECK(copy_file(from.folder, file, to, call));
  EventMetrics metrics("events", to, {});
  HEADRACE_CHECK(metrics.read_all(call));
  std::int64_t last_us = 0;
  for (const std::string& name : metrics.names()) {
    const MetricSeries series = metrics.read(name);
    if (series.values.empty()) continue;
    if (record.run().metrics.size() < kMostFinalMetrics) record.run().metrics[name] = series.values.back();
    last_us = std::max(last_us, *std::ranges::max_element(series.times_us));
  }
  record.run().ended = std::max(record.run().started, std::chrono::milliseconds(last_us / 1000));
  return {};
}

}  // namespace headrace
