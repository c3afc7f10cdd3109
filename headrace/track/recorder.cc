#include "headrace/track/recorder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "headrace/base/environment.h"
#include "headrace/base/iso_time.h"
#include "headrace/base/text.h"
#include "headrace/store/glob.h"
#include "headrace/track/published_folder.h"
#include "headrace/track/redact.h"
#include "headrace/track/run_keys.h"
#include "headrace/track/runs.h"

namespace headrace {
namespace {

using TimePoint = std::chrono::system_clock::time_point;

constexpr std::size_t kResumeLookback = 256;     // runs of version 1 that are read
constexpr std::size_t kListedBeforeSkip = 1000;  // objects: one page of a listing
constexpr std::size_t kMostEntries = 16;         // that killed processes may have left without a record

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

// The position of the first folder "_headrace/" in a key, searched from `begin`, where a folder name begins;
// npos if there is none.
std::size_t find_own_folder(std::string_view key, std::size_t begin) {
  constexpr std::string_view kMark = "/_headrace/";
  if (key.substr(begin).starts_with(kMark.substr(1))) return begin;
  const std::size_t mark = key.find(kMark, begin);
  return mark == key.npos ? mark : mark + 1;
}

Location with_key(const Location& location, std::string key) {
  Location out = location;
  out.url.path = key;
  out.key = std::move(key);
  return out;
}

struct EarlierPart {
  std::string run;
  RunPart part;
};

bool is_of(const RunStart& start, const RunStart& other) {
  return start.output == other.output && start.command == other.command;
}

// The latest earlier part of this rank, from the same command with the same output.
Result<std::optional<EarlierPart>> find_earlier(const Location& root, const RunStart& start,
                                                const CallOptions& call) {
  HEADRACE_TRY(const std::vector<CatalogEntry> entries,
               newest_entries(root, start.output, start.command, start.rank, kMostEntries, call));
  for (const CatalogEntry& entry : entries) {
    auto part = read_part(root, entry.run, entry.part, call);
    if (part && is_of(part->start, start)) return std::optional(EarlierPart{entry.run, std::move(*part)});
    if (!part && !is_damaged_record(part.error().code)) return part.error();
  }
  HEADRACE_TRY(RunList earlier, list_version_1_runs(root, kResumeLookback, call));
  for (auto run = earlier.runs.rbegin(); run != earlier.runs.rend(); ++run) {
    if (is_of(run->start, start)) return std::optional(EarlierPart{run->id, std::move(run->parts.front())});
  }
  return std::optional<EarlierPart>();
}

// A warning if TensorFlow may compute different bits on this processor; otherwise empty.
std::string compare_hosts(const EarlierPart& earlier, const RunStart& start) {
  std::string differences;
  for (const char* key : {"instruction_sets", "tensorflow_kernels"}) {
    const auto before = earlier.part.start.host.find(key);
    const auto now = start.host.find(key);
    if (before == earlier.part.start.host.end() || now == start.host.end() || before->second == now->second)
      continue;
    differences += concat(differences.empty() ? "" : "; ", key, " ", before->second, ", now ", now->second);
  }
  if (differences.empty()) return "";
  return concat(
      "this run continues run ", earlier.run, " on another kind of processor (", differences,
      "): values that TensorFlow computes, such as weights, may differ in their last bits; all other "
      "data are the same");
}

// "data", "data-2", …
template <typename Item>
void make_name_unique(std::string& name, const std::vector<Item>& others) {
  const std::string wanted = name;
  const auto is_taken = [&] {
    return std::ranges::any_of(others, [&](const Item& other) { return other.name == name; });
  };
  for (std::size_t number = 2; is_taken(); ++number) name = concat(wanted, "-", number);
}

}  // namespace

std::string recorded_url(const Location& location) {
  Url url = location.url;
  url.query.clear();
  return redact_secrets(url.text());
}

Result<Artifact> describe_artifact(const Location& location, const ManifestChoice& choice) {
  Artifact artifact = {.url = recorded_url(location)};
  HEADRACE_TRY(const std::optional<PublishedFolder> published, open_version(location, choice));
  if (published) {
    artifact.kind = published->manifest.kind;
    artifact.manifest = published->number;
    artifact.digest = published->digest;
    for (const ManifestPart& part : published->manifest.parts) artifact.size_bytes += part.size_bytes;
    return artifact;
  }
  auto object = location.key.empty() ? Result<ObjectInfo>(Error{Code::kNotFound, ""})
                                     : location.store->stat(location.key, choice.call);
  if (object) {
    artifact.kind = "object";
    artifact.version = object->version.token;
    artifact.size_bytes = object->size_bytes;
    return artifact;
  }
  if (object.error().code != Code::kNotFound) return std::move(object).error();
  bool is_folder = false;
  HEADRACE_CHECK(location.store->list(folder_prefix(location.key), {.call = choice.call},
                                      [&](const ObjectInfo&) { return !(is_folder = true); }));
  if (is_folder) {
    artifact.kind = "folder";
    return artifact;
  }
  if (is_pattern(location.key)) {
    HEADRACE_CHECK(
        visit_matches(*location.store, location.key, {.call = choice.call}, [&](const ObjectInfo&) {
          artifact.kind = "pattern";
          return false;
        }));
    if (!artifact.kind.empty()) return artifact;
  }
  return Error{Code::kNotFound,
               concat("there is nothing at ", location.describe(), "; check the URL with headrace ls")};
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

Result<std::vector<Location>> tracking_roots_below(const Location& folder, const CallOptions& call) {
  std::vector<Location> roots;
  const std::string prefix = folder_prefix(folder.key);
  std::string after;       // the key after which the listing continues
  std::string part;        // end of the current part of a _headrace/ folder: before its records, or the rest
  std::size_t listed = 0;  // objects of that part
  do {
    const ListOptions options{.after = std::exchange(after, ""), .call = call};
    HEADRACE_CHECK(folder.store->list(prefix, options, [&](const ObjectInfo& object) {
      const std::size_t own = find_own_folder(object.key, prefix.size());
      if (own == std::string::npos) return true;
      const std::string_view key = object.key;
      if (key.substr(own).starts_with(kRunsPrefix)) {
        Location root =
            folder.at(own == prefix.size() ? "" : key.substr(prefix.size(), own - prefix.size() - 1));
        if (roots.empty() || roots.back().key != root.key) roots.push_back(std::move(root));
      }
      const bool is_before = key.substr(own) < kRunsPrefix;
      // Another request costs less than listing the rest of many objects. '0' follows '/'.
      std::string end = concat(key.substr(0, own), is_before ? "_headrace/runs" : "_headrace0");
      if (end != part) listed = 0;
      part = std::move(end);
      if (++listed == kListedBeforeSkip) after = part;
      return after.empty();
    }));
  } while (!after.empty());
  return roots;
}

Status RunRecorder::create(std::string_view object, const std::string& text, const CallOptions& call) const {
  const Location at = root_.at(part_key(entry_.run, entry_.part, object));
  const auto written = write_text(*at.store, at.key, text, {.only_if_absent = true, .call = call});
  return written ? Status{} : Status(written.error());
}

// The first part in the order of names: within a rank, the newest.
Result<std::string> RunRecorder::first_part(std::string_view prefix) const {
  std::string part;
  const std::string run = root_.at(concat(kRunPartsPrefix, entry_.run, "/")).key;
  HEADRACE_CHECK(
      root_.store->list(concat(run, prefix), {.call = options_.call}, [&](const ObjectInfo& object) {
        part = object.key.substr(run.size(), object.key.find('/', run.size()) - run.size());
        return false;
      }));
  return part;
}

// The same id may have been given to another run by mistake.
Status RunRecorder::check_same_run(const RunStart& start, const std::string& part) const {
  const auto other = read_part(root_, entry_.run, part, options_.call);
  if (!other) return is_damaged_record(other.error().code) ? Status{} : other.error();
  if (is_of(other->start, start)) return {};
  return Error{Code::kFailedPrecondition,
               concat("the id ", entry_.run, " below ", root_.describe(), " belongs to a run of ",
                      other->start.command, " into ", other->start.output, ": give this run another id")};
}

// Readers take the attempt that started last. So this attempt must start after the existing ones, even if the
// clock has gone back since then, or the clock of another machine is ahead.
Status RunRecorder::follow_earlier_parts(const RunStart& start) {
  HEADRACE_TRY(const std::string first, first_part(""));
  if (first.empty()) return {};
  HEADRACE_CHECK(check_same_run(start, first));
  start_after(first);
  if (first.starts_with(part_name_prefix(start.rank))) return {};
  HEADRACE_TRY(const std::string own, first_part(part_name_prefix(start.rank)));
  start_after(own);
  return {};
}

void RunRecorder::start_after(std::string_view part) {
  const auto name = parse_part_name(part);
  if (!name) return;
  const TimePoint earlier{std::chrono::milliseconds(name->started_ms)};
  started_ = std::max(started_, earlier + std::chrono::milliseconds(1));
}

Status RunRecorder::look_back(RunStart& start) {
  HEADRACE_TRY(const std::optional<EarlierPart> earlier, find_earlier(root_, start, options_.call));
  if (!earlier || (earlier->part.end && earlier->part.end->status == RunStatus::kFinished)) return {};
  start.resumed_from = earlier->run;
  if (std::string remark = compare_hosts(*earlier, start); !remark.empty())
    start.remarks.push_back(std::move(remark));
  return {};
}

Result<RunRecorder> RunRecorder::start(StoreRegistry& registry, const Location& output, RunStart start,
                                       const RecorderOptions& options) {
  if (!options.run_id.empty()) HEADRACE_CHECK(check_run_name(options.run_id));
  if (options.rank >= options.ranks || (options.ranks > 1 && options.run_id.empty()))
    return Error{Code::kInvalidArgument,
                 concat("rank ", options.rank, " of ", options.ranks,
                        ": ranks count from 0, and all ranks of a run must be given the same run id")};
  RunRecorder recorder;
  recorder.options_ = options;
  if (options.root_url.empty()) {
    HEADRACE_TRY(recorder.root_, tracking_root(output, options.call));
  } else {
    HEADRACE_TRY(recorder.root_, registry.open(options.root_url));
  }
  const auto random = [] { return static_cast<std::uint32_t>(random_name_bits()); };
  recorder.started_ = options.now();
  start.rank = options.rank;
  start.ranks = options.ranks;
  if (options.has_output) start.output = recorded_url(output);
  recorder.entry_.run = options.run_id.empty() ? make_run_id(recorder.started_, random()) : options.run_id;
  if (!options.run_id.empty()) HEADRACE_CHECK(recorder.follow_earlier_parts(start));
  start.started = format_time_ms(recorder.started_);
  recorder.entry_.command = start.command;
  recorder.entry_.part = make_part_name(options.rank, recorder.started_, random());
  if (options.has_output) {
    if (options.continues_earlier) HEADRACE_CHECK(recorder.look_back(start));
    HEADRACE_CHECK(
        add_to_catalog(recorder.root_, CatalogIndex::kOutput, start.output, recorder.entry_, options.call));
  }
  for (const Artifact& input : start.inputs)
    HEADRACE_CHECK(
        add_to_catalog(recorder.root_, CatalogIndex::kInput, input, recorder.entry_, options.call));
  recorder.remarks_ = start.remarks;
  const Status written =
      recorder.create("start", serialize_run_start(recorder.entry_.run, start), options.call);
  if (!written) return written.error().in("recording the start of the run");
  return recorder;
}

Status RunRecorder::add_input(Artifact input) {
  make_name_unique(input.name, so_far_.inputs);
  HEADRACE_CHECK(check_run_name(input.name));
  HEADRACE_CHECK(add_to_catalog(root_, CatalogIndex::kInput, input, entry_, options_.call));
  HEADRACE_CHECK(
      create(concat("inputs/", input.name), serialize_run_input(entry_.run, input), options_.call));
  so_far_.inputs.push_back(std::move(input));
  return {};
}

Status RunRecorder::add_input(std::string name, const Location& input, std::optional<std::uint64_t> version) {
  HEADRACE_TRY(Artifact artifact, describe_artifact(input, {.number = version, .call = options_.call}));
  artifact.name = std::move(name);
  return add_input(std::move(artifact));
}

Status RunRecorder::add_output(std::string name, const Location& output) {
  HEADRACE_TRY(Artifact artifact, describe_artifact(output, {.call = options_.call}));
  artifact.name = std::move(name);
  return add_output(std::move(artifact));
}

Status RunRecorder::add_output(Artifact artifact) {
  make_name_unique(artifact.name, so_far_.outputs);
  HEADRACE_CHECK(check_run_name(artifact.name));
  HEADRACE_CHECK(add_to_catalog(root_, CatalogIndex::kOutput, artifact, entry_, options_.call));
  HEADRACE_CHECK(
      create(concat("outputs/", artifact.name), serialize_run_output(entry_.run, artifact), options_.call));
  so_far_.outputs.push_back(std::move(artifact));
  return {};
}

Status RunRecorder::add_series(RunSeries series) {
  make_name_unique(series.name, so_far_.series);
  HEADRACE_CHECK(check_run_name(series.name));
  HEADRACE_CHECK(
      create(concat("series/", series.name), serialize_run_series(entry_.run, series), options_.call));
  so_far_.series.push_back(std::move(series));
  return {};
}

Status RunRecorder::finish(const Status& outcome, RunEnd end) {
  Status written = write_end(outcome, std::move(end));
  return outcome ? written : outcome;
}

Status RunRecorder::write_end(const Status& outcome, RunEnd end) {
  if (!outcome) {
    end.status = outcome.error().code == Code::kCancelled ? RunStatus::kStopped : RunStatus::kFailed;
    end.error = outcome.error().message;
  }
  end.inputs = so_far_.inputs;
  end.outputs = so_far_.outputs;
  end.series = so_far_.series;
  const TimePoint ended = options_.now();
  end.ended = format_time_ms(ended);
  end.seconds = std::max(0.0, std::chrono::duration<double>(ended - started_).count());
  const bool is_repeated = std::exchange(has_tried_end_, true);
  const Status written =
      create("end", serialize_run_end(entry_.run, end), {.deadline = options_.call.deadline});
  // The previous attempt wrote this part, but its answer was lost. No other process writes this part.
  if (is_repeated && !written && written.error().code == Code::kAlreadyExists) return {};
  if (!written) return written.error().in("recording the end of the run");
  return {};
}

}  // namespace headrace
