#pragma once

/// \file Packets between two processes. Each packet arrives whole or not at all, and may carry a descriptor.

#include <chrono>
#include <cstddef>
#include <stop_token>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/os/file_descriptor.h"

namespace headrace {

inline constexpr std::size_t kPacketBytesMax = 64 << 10;

struct Packet {
  BytesView bytes;            // valid until the next call of `receive`
  FileDescriptor descriptor;  // not open: the packet carries none
};

/// One end of a connection. `send` may be called from any thread, `receive` by one thread at a time.
class PacketSocket {
 public:
  struct Ends;
  /// Opens a connection, and returns both ends. Programs that this process starts do not inherit them.
  /// \error kResourceExhausted  the system has no descriptor or memory left
  static Result<Ends> open();
  /// Takes an end that this process was given.
  explicit PacketSocket(FileDescriptor end) : end_(std::move(end)), packet_(kPacketBytesMax) {}

  /// Sends a packet without blocking. `descriptor` may be null. The caller keeps it; the other side gets a
  /// copy. REQUIRES: the packet has 1 … kPacketBytesMax bytes.
  /// \error kResourceExhausted  the other side has not received the previous packets, and there is no room
  /// \error kUnavailable        the other side has gone
  Status send(BytesView packet, const FileDescriptor* descriptor = nullptr);

  /// Waits for the next packet.
  /// \error kUnavailable       the other side has gone
  /// \error kDeadlineExceeded  no packet arrived before the deadline
  /// \error kCancelled         a stop was requested on `stop`
  /// \error kDataLoss          the packet is longer than kPacketBytesMax, or carries several descriptors
  Result<Packet> receive(std::chrono::steady_clock::time_point deadline, const std::stop_token& stop);

  const FileDescriptor& descriptor() const { return end_; }

 private:
  void set_patience(std::chrono::milliseconds patience);

  FileDescriptor end_;
  Bytes packet_;
  std::chrono::milliseconds patience_{0};  // the socket's own receive timeout; 0: none
};

struct PacketSocket::Ends {
  FileDescriptor ours;
  FileDescriptor theirs;
};

}  // namespace headrace
