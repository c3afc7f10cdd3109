#pragma once

/// \file Non-blocking TCP sockets, and the addresses of a name.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/os/file_descriptor.h"

namespace headrace {

/// An IPv4 or IPv6 address with a port, in the form that system calls take.
struct SocketAddress {
  /// The bytes of a sockaddr_in6, or of a sockaddr_in followed by zeros.
  alignas(std::uint32_t) std::array<std::byte, 28> storage{};
  std::uint32_t size_bytes = 0;
  bool is_ipv6() const { return size_bytes == storage.size(); }
  bool operator==(const SocketAddress&) const = default;
};

/// Resolves a name to all its addresses, in the order in which the system prefers them. Blocks for as long as
/// the system's resolver does, without a limit.
/// \error kUnavailable  the resolver finds no address
Result<std::vector<SocketAddress>> resolve(const std::string& host, std::uint16_t port);

/// Begins to connect. When the attempt is over, the socket becomes writable. Then it is connected, or
/// `connect_outcome` says why not.
/// \error kUnavailable        the connection was refused at once
/// \error kResourceExhausted  the system has no descriptor or memory left
Result<FileDescriptor> start_connecting(const SocketAddress& address);
/// Whether the socket is connected now.
bool is_connected(int fd);
/// Makes a second descriptor of the same socket.
/// \error kResourceExhausted  the system has no descriptor left
Result<FileDescriptor> duplicate(const FileDescriptor& socket);
/// The outcome of the attempt that start_connecting began. Success also while it is still under way.
/// \error kUnavailable        the attempt failed; the message is the system's reason
/// \error kResourceExhausted  the system has no descriptor or memory left
Status connect_outcome(int fd);

/// The outcome of one non-blocking attempt to read or write.
struct IoAttempt {
  enum class State { kDone, kWantRead, kWantWrite, kEnd, kFailed };
  State state = State::kFailed;
  std::size_t bytes = 0;  // kDone: how many were moved
  std::string why{};      // kFailed: the system's reason
};

/// Receives the bytes that are available, up to the size of `target`. kEnd: the other side has closed.
/// REQUIRES: `target` is not empty.
IoAttempt receive_from_socket(int fd, MutableBytesView target);
/// Sends as many bytes of `data` as the system takes now. Raises no SIGPIPE.
IoAttempt send_to_socket(int fd, BytesView data);
/// Makes pollers report the socket as readable only when that many bytes have arrived, the end is reached, or
/// its buffer is full. Does nothing on systems without this feature. Bytes that have arrived can always be
/// received.
void wake_reader_for(int fd, std::size_t bytes);

}  // namespace headrace
