#include "headrace/serve/version/encoder_files.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/model/export_files.h"

namespace headrace {

Result<std::shared_ptr<const WantedVersion>> find_encoder_files(const Location& folder,
                                                                const CallOptions& call) {
  WantedVersion found{.number = 1, .folder = folder};
  const std::string prefix = folder_prefix(folder.key);
  HEADRACE_CHECK(folder.store->list(prefix, {.call = call}, [&](const ObjectInfo& object) {
    const std::string_view name = std::string_view(object.key).substr(prefix.size());
    if (object.is_folder()) return true;
    found.files.push_back({.name = std::string(name),
                           .key = object.key,
                           .size_bytes = object.size_bytes,
                           .version = object.version});
    return found.files.size() <= kMostVersionFiles;
  }));
  if (found.files.empty())
    return Error{Code::kNotFound, concat("there is nothing below ", folder.describe())};
  if (std::ranges::find(found.files, kSavedModelFile, &WantedFile::name) == found.files.end()) {
    return Error{Code::kInvalidArgument,
                 concat(folder.describe(), " has no ", kSavedModelFile, ": it is not a SavedModel")};
  }
  found.digest = listing_digest("encoder", folder, "", found.files);
  return checked_version(std::move(found));
}

}  // namespace headrace
