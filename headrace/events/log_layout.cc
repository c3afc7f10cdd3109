#include "headrace/events/log_layout.h"

#include <algorithm>
#include <charconv>

#include "headrace/store/url.h"

namespace headrace {
namespace {

constexpr std::size_t kSegmentDigits = 6;

struct Name {
  std::string_view log;
  std::uint64_t number = 0;
};

// Splits "events.000012" into {"events", 12}. Any other name is the name of a log and of its first segment.
Name split_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || name.size() - dot - 1 < kSegmentDigits) return {name};
  Name out{name.substr(0, dot)};
  const char* const end = name.data() + name.size();
  const auto [stopped, error] = std::from_chars(name.data() + dot + 1, end, out.number);
  if (error != std::errc{} || stopped != end || out.number == 0) return {name};
  return out;
}

}  // namespace

bool is_event_file(std::string_view key) {
  return last_segment(key).find(kEventFileMark) != std::string_view::npos;
}

LogLayout lay_out_logs(std::string_view folder_prefix, const std::vector<ObjectInfo>& objects) {
  std::map<std::string, std::map<std::string, ObjectInfo>> folders;
  for (const ObjectInfo& object : objects) {
    if (object.is_folder() || !object.key.starts_with(folder_prefix) || !is_event_file(object.key)) continue;
    if (!check_key(object.key)) continue;  // a file whose name no store can read, or show
    const std::string inner = object.key.substr(folder_prefix.size());
    const std::string folder = parent_key(inner);
    folders[folder.empty() ? "." : folder].emplace(last_segment(inner), object);
  }
  LogLayout layout;
  for (const auto& [run, files] : folders) {
    std::map<std::string, std::vector<std::pair<std::uint64_t, const ObjectInfo*>>> numbered;
    for (const auto& [name, object] : files) {
      Name parts = split_name(name);
      if (!files.contains(std::string(parts.log))) parts = {name};
      numbered[std::string(parts.log)].emplace_back(parts.number, &object);
    }
    for (auto& [log, segments] : numbered) {
      std::stable_sort(segments.begin(), segments.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      LogSegments& out = layout[run][log];
      for (const auto& [number, object] : segments) out.push_back(*object);
    }
  }
  return layout;
}

}  // namespace headrace
