#include "headrace/store/file/file_driver.h"

#include <filesystem>
#include <system_error>

#include "headrace/base/text.h"
#include "headrace/store/file/file_store.h"

namespace headrace {
namespace {

Result<OpenedStore> open_files(const Url&, const Environment&) { return OpenedStore{make_file_store("/")}; }

bool examine_disk(const Url& url, const Environment&, const CallOptions&, const Report& report) {
  std::filesystem::path folder = "/" + url.path;
  std::error_code failed;
  while (!std::filesystem::exists(folder, failed) && folder.has_relative_path())
    folder = folder.parent_path();
  const auto space = std::filesystem::space(folder, failed);
  if (failed) {
    report({"disk", Finding::Outcome::kFailure, concat(folder.string(), ": ", failed.message())});
  } else {
    report({"disk", Finding::Outcome::kOk,
            concat(format_size(space.available), " free of ", format_size(space.capacity), " at ",
                   folder.string())});
  }
  return true;
}

}  // namespace

const StoreDriver kFileDriver = {
    .scheme = "file",
    .example = "file:///folder/key",
    .summary = "Files of this machine, written atomically; a plain path means the same",
    .details = "Conditional replacement (if_version) is refused: POSIX has no atomic compare-and-rename.",
    .url_form = {.may_lack_authority = true},
    .open = open_files,
    .examine = examine_disk};

}  // namespace headrace
