#pragma once

/// \file Packets between two processes: each arrives whole or not at all, and may carry a descriptor.

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
  FileDescriptor descriptor;  // none: it carries none
};

/// One end. `send` may be called by any thread, `receive` by one at a time.
class PacketSocket {
 public:
  struct Ends;
  /// Both ends, which no other program inherits.
  /// \error kResourceExhausted
  static Result<Ends> open();
  /// An end that this process was given.
  explicit PacketSocket(FileDescriptor end) : end_(std::move(end)), packet_(kPacketBytesMax) {}

  /// Returns at once. `descriptor` may be null, and stays the caller's.
  /// \error kResourceExhausted  the other side has not received what was sent before
  /// \error kUnavailable        the other side has gone
  /// REQUIRES: 1 … kPacketBytesMax bytes
  Status send(BytesView packet, const FileDescriptor* descriptor = nullptr);

  /// Waits for the next packet.
  /// \error kUnavailable       the other side has gone
  /// \error kDeadlineExceeded  none has come before the deadline
  /// \error kCancelled         stopped
  /// \error kDataLoss          it is longer than kPacketBytesMax, or carries several descriptors
  Result<Packet> receive(std::chrono::steady_clock::time_point deadline, const std::stop_token& stop);

  const FileDescriptor& descriptor() const { return end_; }

 private:
  void set_patience(std::chrono::milliseconds patience);

  FileDescriptor end_;
  Bytes packet_;
  std::chrono::milliseconds patience_{0};  // of the socket's own receiving; 0: for ever
};

struct PacketSocket::Ends {
  FileDescriptor ours;
  FileDescriptor theirs;
};

}  // namespace headrace
