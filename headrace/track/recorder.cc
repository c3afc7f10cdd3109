#include "headrace/track/recorder.h"

#include <algorithm>

#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/track/published_folder.h"
#include "headrace/track/runs.h"

namespace headrace {
namespace {

using TimePoint = std::chrono::system_clock::time_point;

constexpr std::size_t kResumeLookback = 256;

std::string format_time_ms(TimePoint time) {
  std::string text = format_time(time);
  const auto since_epoch = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
  const std::int64_t ms = (since_epoch % 1000 + 1000) % 1000;
  text.insert(text.size() - 1, concat(".", zero_padded(static_cast<std::uint64_t>(ms), 3)));
  return text;
}

// "2026-11-21T03:26:00Z" → "20261121-032600-1f2e3d4c"
std::string new_run_id(TimePoint now) {
  std::string id;
  for (const char c : format_time(now)) {
    if (c >= '0' && c <= '9') id += c;
    if (c == 'T') id += '-';
  }
  return concat(id, "-", hex32(static_cast<std::uint32_t>(random_name_bits())));
}

Result<bool> has_runs(const Location& folder, const CallOptions& call) {
  bool found = false;
  const Status listed =
      folder.store->list(folder.at(kRunsPrefix).key, {.call = call}, [&](const ObjectInfo&) {
        found = true;
        return false;
      });
  if (!listed && listed.error().code != Code::kPermissionDenied) return listed.error();
  return found;
}

Location with_key(const Location& location, std::string key) {
  Location out = location;
  out.url.path = key;
  out.key = std::move(key);
  return out;
}

// The latest earlier run of the same command into the same output, if it did not finish; else empty.
Result<std::string> find_unfinished(const Location& root, const RunStart& start, const CallOptions& call) {
  HEADRACE_TRY(const RunList earlier, list_runs(root, kResumeLookback, call));
  const auto found = std::find_if(earlier.runs.rbegin(), earlier.runs.rend(), [&](const RunRecord& run) {
    return run.start.output == start.output && run.start.command == start.command;
  });
  if (found == earlier.runs.rend() || found->status() == RunStatus::kFinished) return std::string();
  return found->id;
}

}  // namespace

Result<Artifact> describe_artifact(const Location& location, const CallOptions& call) {
  Artifact artifact = {.url = location.url.text()};
  HEADRACE_TRY(const std::optional<PublishedFolder> published, read_published(location, {.call = call}));
  if (published) {
    artifact.kind = published->manifest.kind;
    artifact.manifest = published->number;
    artifact.digest = published->digest;
    for (const ManifestPart& part : published->manifest.parts) artifact.size_bytes += part.size_bytes;
    return artifact;
  }
  auto object = location.key.empty() ? Result<ObjectInfo>(Error{Code::kNotFound, ""})
                                     : location.store->stat(location.key, call);
  if (object) {
    artifact.kind = "object";
    artifact.version = object->version.token;
    artifact.size_bytes = object->size_bytes;
    return artifact;
  }
  if (object.error().code != Code::kNotFound) return std::move(object).error();
  bool is_folder = false;
  HEADRACE_CHECK(location.store->list(folder_prefix(location.key), {.call = call},
                                      [&](const ObjectInfo&) { return !(is_folder = true); }));
  if (!is_folder)
    return Error{Code::kNotFound,
                 concat("there is nothing at ", location.describe(), "; check the URL with headrace ls")};
  artifact.kind = "folder";
  return artifact;
}

Result<Location> tracking_root(const Location& output, const CallOptions& call) {
  for (std::string key = output.key; !key.empty();) {
    key = parent_key(key);
    Location folder = with_key(output, key);
    HEADRACE_TRY(const bool found, has_runs(folder, call));
    if (found) return folder;
  }
  if (!output.url.authority.empty()) return with_key(output, "");
  const std::string parent = parent_key(output.key);
  return parent.empty() ? output : with_key(output, parent);
}

Result<RunRecorder> RunRecorder::start(StoreRegistry& registry, const Location& output, RunStart start,
                                       const RecorderOptions& options) {
  RunRecorder recorder;
  recorder.options_ = options;
  if (options.root_url.empty()) {
    HEADRACE_TRY(recorder.root_, tracking_root(output, options.call));
  } else {
    HEADRACE_TRY(recorder.root_, registry.open(options.root_url));
  }
  recorder.started_ = options.now();
  start.started = format_time_ms(recorder.started_);
  if (options.has_output) {
    start.output = output.url.text();
    HEADRACE_TRY(start.resumed_from, find_unfinished(recorder.root_, start, options.call));
  }
  recorder.id_ = new_run_id(recorder.started_);
  const Location object = recorder.root_.at(concat(kRunsPrefix, recorder.id_, "/start"));
  const auto written = write_text(*object.store, object.key, serialize_run_start(recorder.id_, start),
                                  {.only_if_absent = true, .call = options.call});
  if (!written) return written.error().in("recording the start of the run");
  return recorder;
}

Status RunRecorder::add_input(const Location& input) {
  HEADRACE_TRY(Artifact artifact, describe_artifact(input, options_.call));
  add_input(std::move(artifact));
  return {};
}

Status RunRecorder::add_output(const Location& output) {
  HEADRACE_TRY(Artifact artifact, describe_artifact(output, options_.call));
  outputs_.push_back(std::move(artifact));
  return {};
}

Status RunRecorder::finish(const Status& outcome, RunEnd end) {
  if (!outcome) {
    end.status = outcome.error().code == Code::kCancelled ? RunStatus::kStopped : RunStatus::kFailed;
    end.error = outcome.error().message;
  }
  end.inputs.insert(end.inputs.begin(), inputs_.begin(), inputs_.end());
  end.outputs.insert(end.outputs.begin(), outputs_.begin(), outputs_.end());
  const TimePoint ended = options_.now();
  end.ended = format_time_ms(ended);
  end.seconds = std::chrono::duration<double>(ended - started_).count();
  const Location object = root_.at(concat(kRunsPrefix, id_, "/end"));
  const auto written = write_text(*object.store, object.key, serialize_run_end(id_, end),
                                  {.only_if_absent = true, .call = {.deadline = options_.call.deadline}});
  if (!outcome) return outcome;
  if (!written) return written.error().in("recording the end of the run");
  return {};
}

}  // namespace headrace
