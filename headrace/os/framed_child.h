#pragma once

/// \file A program that gets requests and sends answers in frames, for as long as it is needed. A frame is a
/// size (u32, little-endian) followed by that many bytes.

#include <chrono>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/os/spawn.h"

namespace headrace {

/// How long to wait for the other side, and a stop token that ends the wait.
struct FrameWait {
  /// The longest time without a byte in either direction.
  std::chrono::milliseconds silence_max{60'000};
  std::stop_token stop{};
};

/// Not thread-safe. The destructor kills the program and its process group.
class FramedChild {
 public:
  /// Starts the program. Its standard output is a socket, which carries frames in both directions. Its
  /// standard input is a pipe into which nothing is written, and which hangs up when this process ends, in
  /// whatever way. Its standard error is this process's standard error.
  /// \error kNotFound           the program cannot be started
  /// \error kResourceExhausted  a pipe or socket cannot be opened
  static Result<std::unique_ptr<FramedChild>> start(
      const std::vector<std::string>& arguments,
      const std::map<std::string, std::string, std::less<>>& environment);
  ~FramedChild();
  FramedChild(const FramedChild&) = delete;
  FramedChild& operator=(const FramedChild&) = delete;

  /// Sends a frame. REQUIRES: it is smaller than 4 GiB.
  /// \error kDeadlineExceeded  no byte moved for `wait.silence_max`
  /// \error kCancelled         a stop was requested on `wait.stop`
  /// \error kUnavailable       the program has ended, or has closed its side
  Status send(BytesView frame, const FrameWait& wait);

  /// Waits for the next frame. The view is valid until the next call.
  /// \error kDataLoss  the frame claims to be larger than `limit_bytes`
  /// \error            as for `send`
  Result<BytesView> receive(std::uint64_t limit_bytes, const FrameWait& wait);

  /// Waits for at most `grace` until the program ends by itself, then kills it and its process group. Returns
  /// how the program ended: "exit status 3", "signal 11 (Segmentation fault)". No other function may be
  /// called afterwards.
  std::string end(std::chrono::milliseconds grace);

 private:
  FramedChild(pid_t id, FileDescriptor frames, FileDescriptor lifeline)
      : id_(id), frames_(std::move(frames)), lifeline_(std::move(lifeline)) {}
  Status send_all(BytesView data, const FrameWait& wait);
  Status receive_all(MutableBytesView data, const FrameWait& wait);
  template <typename Step>
  Status transfer(std::size_t size, short event, const FrameWait& wait, const Step& step);

  pid_t id_;  // 0 once it has ended
  FileDescriptor frames_;
  FileDescriptor lifeline_;
  Bytes frame_;
};

}  // namespace headrace
