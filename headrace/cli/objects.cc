#include "headrace/cli/objects.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/record/manifest.h"
#include "headrace/store/glob.h"

namespace headrace {

Result<std::optional<ObjectInfo>> find_object(const Location& location, const CallOptions& call) {
  if (location.key.empty()) return std::optional<ObjectInfo>();
  auto found = location.store->stat(location.key, call);
  if (found) return std::optional<ObjectInfo>(std::move(*found));
  if (found.error().code == Code::kNotFound) return std::optional<ObjectInfo>();
  return std::move(found).error();
}

Result<Named> look_up(const Location& location, std::string_view text, const CallOptions& call) {
  if (!asks_for_folder(text)) {
    HEADRACE_TRY(auto object, find_object(location, call));
    if (object) return Named{Named::Kind::kObject, *std::move(object)};
  }
  HEADRACE_TRY(const bool folder, is_folder(location, call));
  if (folder || location.key.empty()) return Named{Named::Kind::kFolder};
  return Named{is_pattern(location.key) ? Named::Kind::kPattern : Named::Kind::kNothing};
}

Status visit_matches(const Location& pattern, Matched matched, const CallOptions& call,
                     const std::function<Status(const ObjectInfo&)>& visit) {
  bool found_any = false;
  Status status;
  const MatchOptions options = {.with_folders = matched != Matched::kObjects, .call = call};
  HEADRACE_CHECK(visit_matches(*pattern.store, pattern.key, options, [&](const ObjectInfo& entry) {
    if (matched == Matched::kFolders && !entry.is_folder()) return !call.stop.stop_requested();
    found_any = true;
    status = check_stop(call.stop, concat("listing ", pattern.describe()));
    if (status) status = visit(entry);
    return status.has_value();
  }));
  HEADRACE_CHECK(status);
  return found_any ? check_stop(call.stop, concat("listing ", pattern.describe())) : nothing_matches(pattern);
}

Location with_key(const Location& location, std::string_view key) {
  Location out = location;
  if (key.ends_with('/')) key.remove_suffix(1);
  out.key = out.url.path = key;
  return out;
}

Error nothing_at(const Location& location) {
  return {Code::kNotFound, concat("there is nothing at ", location.describe())};
}

Error nothing_matches(const Location& pattern) {
  return {Code::kNotFound, concat("no object matches ", pattern.describe())};
}

std::string format_modified(const ObjectInfo& object) {
  if (!object.modified) return std::string(19, ' ');
  std::string text = format_time(*object.modified);
  std::replace(text.begin(), text.end(), 'T', ' ');
  return text.substr(0, 19);
}

Result<Totals> total_below(const Location& folder, const CallOptions& call) {
  Totals totals;
  HEADRACE_CHECK(folder.store->list(folder_prefix(folder.key), {.call = call}, [&](const ObjectInfo& object) {
    ++totals.objects;
    totals.bytes += object.size_bytes;
    return !call.stop.stop_requested();
  }));
  HEADRACE_CHECK(check_stop(call.stop, "counting"));
  return totals;
}

bool is_manifest_key(std::string_view key) {
  const std::size_t at = key.rfind(kManifestPrefix);
  return at != std::string_view::npos && (at == 0 || key[at - 1] == '/') &&
         key.find('/', at + kManifestPrefix.size()) == std::string_view::npos;
}

Status check_stop(const std::stop_token& stop, std::string_view doing) {
  if (!stop.stop_requested()) return {};
  return Error{Code::kCancelled, concat(doing, " was stopped")};
}

}  // namespace headrace
