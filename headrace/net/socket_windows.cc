#include <winsock2.h>
// winsock2.h must be included first.
#include <ws2tcpip.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "headrace/base/text.h"
#include "headrace/base/windows_text.h"
#include "headrace/net/socket.h"
#include "headrace/net/winsock.h"

namespace headrace {
namespace {

SOCKET handle(int fd) { return static_cast<SOCKET>(fd); }

Error error_of(int number) {
  const bool exhausted = number == WSAEMFILE || number == WSAENOBUFS || number == WSA_NOT_ENOUGH_MEMORY;
  return {exhausted ? Code::kResourceExhausted : Code::kUnavailable,
          windows_message(static_cast<std::uint32_t>(number))};
}

const sockaddr* as_sockaddr(const SocketAddress& address) {
  return reinterpret_cast<const sockaddr*>(address.storage.data());
}

int clamped(std::size_t size) {
  return static_cast<int>(std::min<std::size_t>(size, std::numeric_limits<int>::max()));
}

// The outcome of a call that moved no bytes.
IoAttempt outcome(IoAttempt::State would_wait) {
  const int number = ::WSAGetLastError();
  if (number == WSAEWOULDBLOCK) return {would_wait};
  return {IoAttempt::State::kFailed, 0, error_of(number).message};
}

}  // namespace

Status start_winsock() {
  static const int outcome = [] {
    WSADATA version;
    return ::WSAStartup(MAKEWORD(2, 2), &version);
  }();
  if (outcome == 0) return {};
  return Error{Code::kResourceExhausted,
               concat("cannot start Winsock: ", windows_message(static_cast<std::uint32_t>(outcome)))};
}

Error winsock_error() { return error_of(::WSAGetLastError()); }

Result<FileDescriptor> open_winsock(int family, int type, int protocol) {
  HEADRACE_CHECK(start_winsock());
  FileDescriptor socket(static_cast<int>(
      ::WSASocketW(family, type, protocol, nullptr, 0, WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT)));
  u_long on = 1;
  if (!socket.is_open() || ::ioctlsocket(handle(socket.get()), static_cast<long>(FIONBIO), &on) != 0)
    return winsock_error();
  return socket;
}

Result<std::vector<SocketAddress>> resolve(const std::string& host, std::uint16_t port) {
  HEADRACE_CHECK(start_winsock());
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int outcome = ::getaddrinfo(host.c_str(), concat(port).c_str(), &hints, &found);
  const auto free_list = [](addrinfo* list) { ::freeaddrinfo(list); };
  const std::unique_ptr<addrinfo, decltype(free_list)> owner(outcome == 0 ? found : nullptr, free_list);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* entry = owner.get(); entry != nullptr; entry = entry->ai_next) {
    SocketAddress address{.size_bytes = static_cast<std::uint32_t>(entry->ai_addrlen)};
    static_assert(sizeof address.storage == sizeof(sockaddr_in6));
    if (entry->ai_addrlen > address.storage.size()) continue;
    std::memcpy(address.storage.data(), entry->ai_addr, entry->ai_addrlen);
    addresses.push_back(address);
  }
  if (!addresses.empty()) return addresses;
  return Error{Code::kUnavailable, concat("cannot resolve \"", host,
                                          "\": ", windows_message(static_cast<std::uint32_t>(outcome)))};
}

Result<FileDescriptor> start_connecting(const SocketAddress& address) {
  HEADRACE_TRY(FileDescriptor socket,
               open_winsock(as_sockaddr(address)->sa_family, SOCK_STREAM, IPPROTO_TCP));
  const char on = 1;
  ::setsockopt(handle(socket.get()), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(handle(socket.get()), as_sockaddr(address), static_cast<int>(address.size_bytes)) != 0 &&
      ::WSAGetLastError() != WSAEWOULDBLOCK)
    return winsock_error();
  return socket;
}

Result<FileDescriptor> duplicate(const FileDescriptor& socket) {
  WSAPROTOCOL_INFOW info{};
  if (::WSADuplicateSocketW(handle(socket.get()), ::GetCurrentProcessId(), &info) == 0) {
    FileDescriptor second(
        static_cast<int>(::WSASocketW(FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO, &info, 0,
                                      WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT)));
    if (second.is_open()) return second;
  }
  return Error{Code::kResourceExhausted, winsock_error().message};
}

bool is_connected(int fd) {
  sockaddr_storage peer{};
  int size = sizeof peer;
  return ::getpeername(handle(fd), reinterpret_cast<sockaddr*>(&peer), &size) == 0;
}

Status connect_outcome(int fd) {
  int number = 0;
  int size = sizeof number;
  if (::getsockopt(handle(fd), SOL_SOCKET, SO_ERROR, reinterpret_cast<char*>(&number), &size) != 0)
    return winsock_error();
  if (number != 0) return error_of(number);
  return {};
}

IoAttempt receive_from_socket(int fd, MutableBytesView target) {
  const int received = ::recv(handle(fd), reinterpret_cast<char*>(target.data()), clamped(target.size()), 0);
  if (received > 0) return {IoAttempt::State::kDone, static_cast<std::size_t>(received)};
  if (received == 0) return {IoAttempt::State::kEnd};
  return outcome(IoAttempt::State::kWantRead);
}

IoAttempt send_to_socket(int fd, BytesView data) {
  const int sent = ::send(handle(fd), reinterpret_cast<const char*>(data.data()), clamped(data.size()), 0);
  if (sent >= 0) return {IoAttempt::State::kDone, static_cast<std::size_t>(sent)};
  return outcome(IoAttempt::State::kWantWrite);
}

// Windows does not have SO_RCVLOWAT.
void wake_reader_for(int, std::size_t) {}

}  // namespace headrace
