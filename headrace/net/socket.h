#pragma once

/// \file TCP sockets that never wait, and the addresses of a name.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/os/file_descriptor.h"

namespace headrace {

/// An IPv4 or IPv6 address with a port, in the form that the system's calls take.
struct SocketAddress {
  /// The bytes of a sockaddr_in6, or of a sockaddr_in and zeros.
  alignas(std::uint32_t) std::array<std::byte, 28> storage{};
  std::uint32_t size_bytes = 0;
  bool is_ipv6() const { return size_bytes == storage.size(); }
  bool operator==(const SocketAddress&) const = default;
};

/// Resolves a name to all its addresses, in the order in which the system wants them tried. Waits for the
/// system's resolver, for as long as that takes.
/// \error kUnavailable
Result<std::vector<SocketAddress>> resolve(const std::string& host, std::uint16_t port);

/// Begins to connect. When the attempt is over, the socket becomes writable: it is connected, or
/// `connect_outcome` tells why not.
/// \error kUnavailable  refused at once; kResourceExhausted  the system has no descriptor or memory left
Result<FileDescriptor> start_connecting(const SocketAddress& address);
bool is_connected(int fd);
/// Makes a second descriptor of the same socket.
/// \error kResourceExhausted
Result<FileDescriptor> duplicate(const FileDescriptor& socket);
/// \error kUnavailable  with the system's reason
Status connect_outcome(int fd);

/// The outcome of one attempt to read or write without waiting.
struct IoAttempt {
  enum class State { kDone, kWantRead, kWantWrite, kEnd, kFailed };
  State state = State::kFailed;
  std::size_t bytes = 0;  // kDone
  std::string why{};      // kFailed
};

IoAttempt receive_from_socket(int fd, MutableBytesView target);
IoAttempt send_to_socket(int fd, BytesView data);
/// Makes the socket readable only when so many bytes are there, or the end, or no more fit into its buffer.
/// Does nothing where the system cannot do that. Bytes that are there can always be received.
void wake_reader_for(int fd, std::size_t bytes);

}  // namespace headrace
