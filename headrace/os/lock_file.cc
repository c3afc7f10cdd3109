#include "headrace/os/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

namespace headrace {
namespace {

// Returns whether the open file still has that name: the process that held the lock before may have removed
// it.
bool is_at(const FileDescriptor& file, const std::string& path) {
  struct stat opened {};
  struct stat named {};
  return fstat(file.get(), &opened) == 0 && lstat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

FileDescriptor open_with_lock(const std::string& path, int flags, int lock) {
  FileDescriptor file(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) return file;
  if (flock(file.get(), lock | LOCK_NB) == 0 && is_at(file, path)) return file;
  errno = EWOULDBLOCK;
  return FileDescriptor();
}

}  // namespace

FileDescriptor open_locked(const std::string& path, int flags) {
  return open_with_lock(path, flags, LOCK_EX);
}

FileDescriptor open_share_locked(const std::string& path, int flags) {
  return open_with_lock(path, flags, LOCK_SH);
}

}  // namespace headrace
