#include "headrace/run_import/allowed_files.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "headrace/base/text.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

bool is_local(const Location& place) { return place.url.scheme == "file"; }

bool is_below(const std::string& path, const std::string& folder) {
  return path == folder || folder.empty() || path.starts_with(concat(folder, "/"));
}

// The path that all symbolic links lead to, as the key of a file store; none if it cannot be found out.
std::optional<std::string> real_key(const std::string& key) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(concat("/", key), error);
  if (error) return std::nullopt;
  std::string text = real.relative_path().string();
  while (text.ends_with('/')) text.pop_back();
  return text;
}

bool has_parent_segment(const std::string& key) {
  const auto segments = split(key, '/');
  return std::find(segments.begin(), segments.end(), "..") != segments.end();
}

bool contains_one(const Location& allowed, const Location& place) {
  if (allowed.url.scheme != place.url.scheme || allowed.url.authority != place.url.authority ||
      allowed.url.query != place.url.query)
    return false;
  if (!is_local(place)) return !has_parent_segment(place.key) && is_below(place.key, allowed.key);
  const auto real = real_key(place.key);
  const auto folder = real_key(allowed.key);
  return real && folder && is_below(*real, *folder);
}

}  // namespace

bool AllowedFiles::contains(const Location& place) const {
  return std::any_of(places_.begin(), places_.end(),
                     [&](const Location& allowed) { return contains_one(allowed, place); });
}

bool AllowedFiles::leads_out(const Location& object) const {
  std::error_code error;
  return is_local(object) && fs::is_symlink(concat("/", object.key), error) && !contains(object);
}

Result<AllowedFiles::LocalFolder> AllowedFiles::list_local(const Location& folder,
                                                           const CallOptions& call) const {
  const std::string prefix = folder_prefix(folder.key);
  LocalFolder found;
  if (!is_local(folder)) return found;
  HEADRACE_CHECK(folder.store->list(prefix, {.call = call}, [&](const ObjectInfo& object) {
    std::string name = object.key.substr(prefix.size());
    if (leads_out(folder.at(name))) {
      ++found.links_out;
    } else {
      found.names.push_back(std::move(name));
    }
    return true;
  }));
  return found;
}

}  // namespace headrace
