#include "headrace/store/file/file_driver.h"

#include <filesystem>
#include <system_error>

#include "headrace/base/text.h"
#include "headrace/store/file/file_store.h"

namespace headrace {
namespace {

Result<OpenedStore> open_files(const Url&, const Environment&) { return OpenedStore{make_file_store("/")}; }

bool examine_disk(const Url& url, const Environment&, const CallOptions&, const Report& report) {
  const std::filesystem::path path = "/" + url.path;
  std::error_code failed;
  if (!std::filesystem::exists(path, failed)) {
    report({"folder", Finding::Outcome::kFailure,
            concat(path.string(), failed ? concat(": ", failed.message()) : " does not exist"),
            "create it, or correct the URL"});
    return false;
  }
  const auto space = std::filesystem::space(path, failed);
  if (failed) {
    report({"disk", Finding::Outcome::kFailure, concat(path.string(), ": ", failed.message())});
  } else {
    report({"disk", Finding::Outcome::kOk,
            concat(format_size(space.available), " free of ", format_size(space.capacity), " at ",
                   path.string())});
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
