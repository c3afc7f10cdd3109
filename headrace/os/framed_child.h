#pragma once

/// \file A program that is asked and answers in frames for as long as it is needed: u32 size, little endian,
/// then so many bytes.

#include <chrono>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/os/spawn.h"

namespace headrace {

/// How long to wait for the other side, and what ends waiting.
struct FrameWait {
  /// The longest time without a byte in either direction.
  std::chrono::milliseconds silence_max{60'000};
  std::stop_token stop{};
};

/// One thread at a time. None of the program's group is left running once this is gone.
class FramedChild {
 public:
  /// The program has frames both ways on its standard output, which is a socket; its standard input is a pipe
  /// into which nothing is written, and which hangs up when this process ends, however it does; what it
  /// writes to standard error goes where this process's does.
  /// \error kNotFound  it cannot be started
  static Result<std::unique_ptr<FramedChild>> start(
      const std::vector<std::string>& arguments,
      const std::map<std::string, std::string, std::less<>>& environment);
  ~FramedChild();
  FramedChild(const FramedChild&) = delete;
  FramedChild& operator=(const FramedChild&) = delete;

  /// REQUIRES: less than 4 GiB
  /// \error kDeadlineExceeded, kCancelled  of `wait`
  /// \error kUnavailable  the program has ended, or closed its side
  Status send(BytesView frame, const FrameWait& wait);

  /// The next frame, valid until the next call.
  /// \error as `send`; and kDataLoss  it claims more than `limit_bytes`
  Result<BytesView> receive(std::uint64_t limit_bytes, const FrameWait& wait);

  /// Kills the program and its group; a program that is about to end by itself has `grace` to do so. Returns
  /// how it ended: "exit status 3", "signal 11 (Segmentation fault)". No other function may be called then.
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
