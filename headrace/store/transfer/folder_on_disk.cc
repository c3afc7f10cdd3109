#include "headrace/store/transfer/folder_on_disk.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "headrace/base/text.h"

namespace headrace {
namespace {

bool is_absence(int number) { return number == ENOENT || number == ENOTDIR; }

Error cannot_look_at(const std::string& path) {
  return {Code::kUnknown, concat("looking at ", path, ": ", std::strerror(errno))};
}

// Returns the path on this machine.
std::string path_of(const Location& place) { return concat("/", place.key); }

using FileIdentity = std::pair<dev_t, ino_t>;

Result<FileIdentity> identity_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return FileIdentity{status.st_dev, status.st_ino};
  if (is_absence(errno)) return Error{Code::kNotFound, concat("there is no ", path)};
  return cannot_look_at(path);
}

// Returns the folder if it exists, else the nearest folder above it that exists.
std::string nearest_folder(std::string path) {
  struct stat status {};
  while (path != "/" && ::stat(path.c_str(), &status) != 0 && is_absence(errno))
    path.resize(std::max<std::size_t>(path.rfind('/'), 1));
  return path;
}

}  // namespace

Result<bool> lies_in(const Location& inner, const Location& outer) {
  if (inner.url.scheme != "file" || outer.url.scheme != "file") return false;
  const Result<FileIdentity> wanted = identity_of(path_of(outer));
  if (!wanted && wanted.error().code == Code::kNotFound) return false;
  HEADRACE_CHECK(wanted);
  std::string path = nearest_folder(path_of(inner));
  HEADRACE_TRY(FileIdentity at, identity_of(path));
  while (at != *wanted) {
    path += "/..";
    HEADRACE_TRY(const FileIdentity above, identity_of(path));
    if (above == at) return false;  // the root of the machine
    at = above;
  }
  return true;
}

Status check_absent(const Location& from, std::string_view name) {
  if (from.url.scheme != "file") return {};
  const std::string folder = path_of(from);
  for (std::size_t end = 0; end != name.npos;) {
    end = name.find('/', end + 1);
    const std::string path = concat(folder, "/", name.substr(0, end));
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return is_absence(errno) ? Status() : cannot_look_at(path);
    if (S_ISLNK(status.st_mode)) {
      return Error{Code::kFailedPrecondition,
                   concat(path,
                          " is a symbolic link, which is not followed, so all objects below it would be "
                          "removed from the copy; replace the link by the folder, or --exclude it")};
    }
  }
  return {};
}

}  // namespace headrace
