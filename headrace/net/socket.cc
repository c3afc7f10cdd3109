#include "headrace/net/socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <system_error>

#include "headrace/base/text.h"

namespace headrace {
namespace {

Error failed(int error_number) {
  const bool exhausted =
      error_number == EMFILE || error_number == ENFILE || error_number == ENOBUFS || error_number == ENOMEM;
  return {exhausted ? Code::kResourceExhausted : Code::kUnavailable,
          std::generic_category().message(error_number)};
}

const sockaddr* as_sockaddr(const SocketAddress& address) {
  return reinterpret_cast<const sockaddr*>(address.storage.data());
}

}  // namespace

Result<std::vector<SocketAddress>> resolve(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int outcome = ::getaddrinfo(host.c_str(), concat(port).c_str(), &hints, &found);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(outcome == 0 ? found : nullptr,
                                                             [](addrinfo* list) {
                                                               if (list != nullptr) ::freeaddrinfo(list);
                                                             });
  std::vector<SocketAddress> addresses;
  for (const addrinfo* entry = owner.get(); entry != nullptr; entry = entry->ai_next) {
    SocketAddress address{.size_bytes = entry->ai_addrlen};
    static_assert(sizeof address.storage == sizeof(sockaddr_in6));
    if (entry->ai_addrlen > address.storage.size()) continue;
    std::memcpy(address.storage.data(), entry->ai_addr, entry->ai_addrlen);
    addresses.push_back(address);
  }
  if (addresses.empty()) {
    return Error{Code::kUnavailable, concat("cannot resolve \"", host, "\": ", ::gai_strerror(outcome))};
  }
  return addresses;
}

Result<FileDescriptor> start_connecting(const SocketAddress& address) {
  FileDescriptor socket(
      ::socket(as_sockaddr(address)->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!socket.is_open()) return failed(errno);
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(socket.get(), as_sockaddr(address), address.size_bytes) != 0 && errno != EINPROGRESS)
    return failed(errno);
  return socket;
}

Result<FileDescriptor> duplicate(const FileDescriptor& socket) {
  FileDescriptor second(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
  if (!second.is_open()) return Error{Code::kResourceExhausted, std::generic_category().message(errno)};
  return second;
}

bool is_connected(int fd) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  return ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0;
}

Status connect_outcome(int fd) {
  int error_number = 0;
  socklen_t size = sizeof error_number;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error_number, &size) != 0) error_number = errno;
  if (error_number != 0) return failed(error_number);
  return {};
}

IoAttempt receive_from_socket(int fd, MutableBytesView target) {
  while (true) {
    const ssize_t received = ::recv(fd, target.data(), target.size(), 0);
    if (received > 0) return {IoAttempt::State::kDone, static_cast<std::size_t>(received)};
    if (received == 0) return {IoAttempt::State::kEnd};
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {IoAttempt::State::kWantRead};
    if (errno != EINTR) return {IoAttempt::State::kFailed, 0, std::generic_category().message(errno)};
  }
}

IoAttempt send_to_socket(int fd, BytesView data) {
  while (true) {
    const ssize_t sent = ::send(fd, data.data(), data.size(), MSG_NOSIGNAL);
    if (sent >= 0) return {IoAttempt::State::kDone, static_cast<std::size_t>(sent)};
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {IoAttempt::State::kWantWrite};
    if (errno != EINTR) return {IoAttempt::State::kFailed, 0, std::generic_category().message(errno)};
  }
}

void wake_reader_for(int fd, std::size_t bytes) {
  const int least = static_cast<int>(std::min<std::size_t>(bytes, std::numeric_limits<int>::max()));
  ::setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
}

}  // namespace headrace
