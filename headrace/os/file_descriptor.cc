#include "headrace/os/file_descriptor.h"

#include <unistd.h>

#include <cerrno>

namespace headrace {

bool FileDescriptor::close() { return number_ < 0 || ::close(release()) == 0; }

bool write_all(const FileDescriptor& to, BytesView data) {
  while (!data.empty()) {
    const ssize_t written = ::write(to.get(), data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    data = data.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace headrace
