#include "headrace/cli/objects.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/record/manifest.h"

namespace headrace {

Result<std::optional<ObjectInfo>> find_object(const Location& location, const CallOptions& call) {
  if (location.key.empty()) return std::optional<ObjectInfo>();
  auto found = location.store->stat(location.key, call);
  if (found) return std::optional<ObjectInfo>(std::move(*found));
  if (found.error().code == Code::kNotFound) return std::optional<ObjectInfo>();
  return std::move(found).error();
}

Result<bool> is_folder(const Location& location, const CallOptions& call) {
  bool found = false;
  HEADRACE_CHECK(location.store->list(folder_prefix(location.key), {.call = call}, [&](const ObjectInfo&) {
    found = true;
    return false;
  }));
  return found;
}

Error nothing_at(const Location& location) {
  return {Code::kNotFound, concat("there is nothing at ", location.describe())};
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
