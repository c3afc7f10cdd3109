#pragma once

/// \file Non-blocking TCP connections, and waiting on them with a bound. Internal to the HTTP client.

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/io/file_descriptor.h"
#include "headrace/io/http_message.h"

namespace headrace {

/// Bounds all the waits of one request: by the time without progress, and by a stop token. Not thread-safe.
class IoWait {
 public:
  IoWait(std::chrono::milliseconds stall_timeout, std::stop_token stop);

  /// Blocks until `fd` shows one of `events` (poll(2): POLLIN, POLLOUT), an error or a hang-up; returns what
  /// it shows. `at_most` shortens this one wait: then 0 is returned in the end, not an error.
  /// \error kDeadlineExceeded, kCancelled
  Result<short> poll(int fd, short events, std::optional<std::chrono::milliseconds> at_most = std::nullopt);

  /// A phase is over: the time starts anew.
  void phase_done();
  /// That many bytes went through: the time starts anew with every 32 KiB, so that a trickle is no progress.
  void moved(std::size_t bytes);

  std::chrono::milliseconds stall_timeout() const { return stall_timeout_; }
  const std::stop_token& stop() const { return stop_; }

 private:
  struct WakeUp {
    int fd;
    void operator()() const;
  };
  const std::chrono::milliseconds stall_timeout_;
  const std::stop_token stop_;
  std::chrono::steady_clock::time_point limit_;
  std::size_t moved_bytes_ = 0;
  FileDescriptor wake_up_;  // an eventfd, once a wait had to block
  std::optional<std::stop_callback<WakeUp>> on_stop_;
};

/// What came of one attempt to read or write without blocking.
struct IoAttempt {
  enum class State { kDone, kWantRead, kWantWrite, kEnd, kFailed };
  State state = State::kFailed;
  std::size_t bytes = 0;  // kDone
  std::string why{};      // kFailed
};

/// A connection's bytes, plain or encrypted. `fd` is what to wait on for kWantRead and kWantWrite.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  virtual IoAttempt try_receive(MutableBytesView target) = 0;
  virtual IoAttempt try_send(BytesView data) = 0;
  virtual int fd() const = 0;
};

/// Resolves and connects, trying every address in turn; of several of the preferred family, each new
/// connection starts with another one. Resolving is bounded by the system's resolver (resolv.conf) only.
/// \error kUnavailable, kDeadlineExceeded, kCancelled
Result<FileDescriptor> connect_tcp(const HttpEndpoint& endpoint, std::chrono::milliseconds timeout,
                                   const std::stop_token& stop);

/// Takes a connected, non-blocking socket.
std::unique_ptr<ByteStream> plain_stream(FileDescriptor socket);

/// One attempt each on a socket, never raising SIGPIPE.
IoAttempt receive_from_socket(int fd, MutableBytesView target);
IoAttempt send_to_socket(int fd, BytesView data);

}  // namespace headrace
