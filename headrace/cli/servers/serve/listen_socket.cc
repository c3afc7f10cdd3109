#include "headrace/cli/servers/serve/listen_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/net/socket.h"

namespace headrace {
namespace {

constexpr int kBacklog = 4096;  // the system lowers it to net.core.somaxconn

Result<std::pair<std::string, std::uint16_t>> split_address(const std::string& address) {
  const Error wrong{Code::kInvalidArgument,
                    concat("\"", printable_line(address, 100),
                           "\" is not an address to listen at; write HOST:PORT, for example 127.0.0.1:8501, "
                           "[::1]:8501 or, for all addresses, 0.0.0.0:8501")};
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) return wrong;
  const auto port = parse_number<std::uint16_t>(std::string_view(address).substr(colon + 1));
  std::string host = address.substr(0, colon);
  const bool is_bracketed = host.front() == '[' && host.back() == ']';
  if (!port || (!is_bracketed && host.find_first_of(":[]/ ") != std::string::npos)) return wrong;
  if (is_bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty()) return wrong;
  return std::pair(std::move(host), *port);
}

Error listen_error(const std::string& address, int number) {
  const std::string begin = concat("cannot listen at ", address, ": ");
  switch (number) {
    case EADDRINUSE:
      return {Code::kFailedPrecondition,
              begin + "the port is in use; stop the program that has it, or choose another port"};
    case EACCES:
      return {Code::kFailedPrecondition,
              begin +
                  "the system does not allow this port; choose one from 1024 on, or grant "
                  "CAP_NET_BIND_SERVICE"};
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
      return {Code::kFailedPrecondition, begin + "this machine has no such address"};
    default:
      return {Code::kResourceExhausted, begin + std::strerror(number)};
  }
}

// The port is at the same place in both kinds of address.
void set_port(SocketAddress& at, std::uint16_t port) {
  const std::uint16_t bytes = htons(port);
  std::memcpy(at.storage.data() + offsetof(sockaddr_in6, sin6_port), &bytes, sizeof bytes);
}

// Returns an errno, or 0 with the socket in `out`.
int open_listener(const SocketAddress& at, ListenSocket& out) {
  const int family = at.is_ipv6() ? AF_INET6 : AF_INET;
  FileDescriptor socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!socket.is_open()) return errno;
  // Old connections of an earlier server do not block the port; a server that listens does.
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(at.storage.data()), at.size_bytes) != 0 ||
      ::listen(socket.get(), kBacklog) != 0)
    return errno;
  sockaddr_in6 bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) return errno;
  out = {std::move(socket), ntohs(bound.sin6_port), at.is_ipv6()};  // IPv4 has the port at the same place
  return 0;
}

}  // namespace

Result<std::vector<ListenSocket>> listen_at(const std::string& address) {
  HEADRACE_TRY(const auto host_and_port, split_address(address));
  const auto& [host, port] = host_and_port;
  Result<std::vector<SocketAddress>> addresses = resolve(host, port);
  if (!addresses) {
    return Error{Code::kFailedPrecondition,
                 concat("cannot listen at ", address, ": ", addresses.error().message)};
  }
  std::vector<ListenSocket> sockets;
  std::optional<Error> missing;
  for (SocketAddress& at : *addresses) {
    if (port == 0 && !sockets.empty()) set_port(at, sockets.front().port);
    ListenSocket socket;
    const int number = open_listener(at, socket);
    if (number == 0) {
      sockets.push_back(std::move(socket));
    } else if (number == EADDRNOTAVAIL || number == EAFNOSUPPORT) {
      missing = listen_error(address, number);  // a machine without IPv6 still has its other addresses
    } else {
      return listen_error(address, number);
    }
  }
  if (sockets.empty() && missing) return *missing;
  if (sockets.empty()) return listen_error(address, EADDRNOTAVAIL);
  return sockets;
}

}  // namespace headrace
