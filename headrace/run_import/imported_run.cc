#include "headrace/run_import/imported_run.h"

#include <algorithm>
#include <charconv>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/track/json_number.h"
#include "headrace/track/run_keys.h"

namespace headrace {
namespace {

constexpr std::size_t kIdDigits = 16;
constexpr std::size_t kPartDigits = 8;
constexpr std::int64_t kMostMilliseconds = 7'258'118'399'000;  // the last second of 2199

std::string digest_of(const ImportedRun& run) { return sha256_hex(as_bytes(run.identity)); }

void add_text(Sha256& digest, const std::string& text) {
  digest.update(as_bytes(std::string_view(text.c_str(), text.size() + 1)));
}

// Leaves out the place, and the remarks, which name places: the source may be moved.
std::string state_digest_of(const ImportedRun& run) {
  Sha256 digest;
  add_text(digest, run.identity);
  add_text(digest, run.state);
  for (const auto& [name, value] : imported_parameters(run)) {
    add_text(digest, name);
    add_text(digest, value);
  }
  for (const auto& [name, value] : run.metrics) {
    add_text(digest, name);
    add_text(digest, number_to_json(value).dump());
  }
  add_text(digest, std::string(run_status_name(run.status)));
  add_text(digest, run.error);
  add_text(digest, run.ended ? std::to_string(run.ended->count()) : "");
  return hex(digest.finish());
}

RunStatus status_named(std::string_view name) {
  for (const RunStatus status : {RunStatus::kFinished, RunStatus::kFailed, RunStatus::kStopped}) {
    if (name == run_status_name(status)) return status;
  }
  return RunStatus::kUnfinished;
}

}  // namespace

std::string imported_run_id(const ImportedRun& run) {
  return concat(run.source, "-", digest_of(run).substr(0, kIdDigits));
}

std::string imported_part_name(const ImportedRun& run, const std::set<std::string>& known) {
  const std::string digits = state_digest_of(run).substr(0, kPartDigits);
  auto started = recordable_time(run.started);
  for (const std::string& part : known) {
    if (part.ends_with(concat("-", digits))) return part;
    const auto name = parse_part_name(part);
    if (!name) continue;
    started = std::max(started, recordable_time(std::chrono::milliseconds(name->started_ms + 1)));
  }
  std::uint32_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  return make_part_name(0, started, number);
}

std::map<std::string, std::string> imported_parameters(const ImportedRun& run) {
  std::map<std::string, std::string> all;
  for (const auto& [key, value] : run.tags) all[concat("tags/", key)] = value;
  if (!run.name.empty()) all["name"] = run.name;
  if (!run.group.empty()) all["imported/group"] = run.group;
  all["imported/from"] = run.source;
  all["imported/id"] = run.id;
  for (const auto& [key, value] : run.parameters) {
    if (!all.try_emplace(key, value).second) all[concat("params/", key)] = value;
  }
  return all;
}

std::chrono::system_clock::time_point recordable_time(std::chrono::milliseconds since_1970) {
  const std::int64_t count = std::clamp<std::int64_t>(since_1970.count(), 0, kMostMilliseconds);
  return std::chrono::system_clock::time_point(std::chrono::milliseconds(count));
}

ImportedRun imported_run_from_json(const Json& from) {
  ImportedRun run;
  from.get_to("identity", run.identity);
  from.get_to("source", run.source);
  from.get_to("id", run.id);
  from.get_to("name", run.name);
  from.get_to("group", run.group);
  from.get_to("parameters", run.parameters);
  from.get_to("tags", run.tags);
  from.get_to("error", run.error);
  from.get_to("remarks", run.remarks);
  from.get_to("state", run.state);
  run.status = status_named(from.get<std::string>("status"));
  run.started = std::chrono::milliseconds(from.get<std::int64_t>("started_ms"));
  if (const Json& ended = from.at("ended_ms"); !ended.is_null())
    run.ended = std::chrono::milliseconds(ended.as<std::int64_t>("ended_ms"));
  for (const auto& [name, value] : from.at("metrics").members()) run.metrics[name] = number_from_json(value);
  return run;
}

}  // namespace headrace
