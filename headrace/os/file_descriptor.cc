#include "headrace/os/file_descriptor.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace headrace {
namespace {

constexpr int kStopCheckMs = 100;

}  // namespace

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

Result<std::size_t> read_some(int descriptor, MutableBytesView into, const std::stop_token& stop) {
  pollfd wanted{.fd = descriptor, .events = POLLIN, .revents = 0};
  while (true) {
    while (poll(&wanted, 1, kStopCheckMs) <= 0) {
      if (stop.stop_requested()) return Error{Code::kCancelled, "reading was stopped"};
    }
    const ssize_t got = ::read(descriptor, into.data(), into.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR && errno != EAGAIN) return Error{Code::kUnknown, std::strerror(errno)};
  }
}

}  // namespace headrace
