#pragma once

/// \file Whole messages over a byte stream, without waiting: an int32 length, then as many bytes.

#include <array>
#include <chrono>
#include <memory>
#include <optional>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/net/byte_stream.h"
#include "headrace/net/poller.h"
#include "headrace/os/buffer_pool.h"

namespace headrace::ignite {

/// Not thread-safe, but for `wake`. After an error it is of no more use.
class MessageStream {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `pool` gives the memory that messages are received into, directly from the connection.
  static Result<std::unique_ptr<MessageStream>> create(std::unique_ptr<ByteStream> stream,
                                                       std::shared_ptr<BufferPool> pool,
                                                       std::size_t limit_bytes);
  ~MessageStream();

  /// The largest message that is accepted.
  void set_limit(std::size_t limit_bytes) { limit_bytes_ = limit_bytes; }

  bool is_sending() const { return sent_ < sending_.size(); }
  /// Begins with a message, its length included. REQUIRES: !is_sending()
  void start(Bytes message);
  /// Sends as much as the connection takes now. \error kUnavailable
  Status try_send();

  /// The next message without its length, if it is there as a whole; the part that is there is kept.
  /// \error kUnavailable  the connection ended or broke, or what came is no message
  /// \error kResourceExhausted  no memory
  Result<std::optional<PooledBuffer>> try_receive();
  /// False until the first byte came.
  bool has_received() const { return has_received_; }

  /// Waits until more can be sent or received, `wake` is called, or the time is over.
  /// \error kResourceExhausted
  Status wait(Time until);
  /// Ends the current wait, or else the next one. Call it from any thread.
  void wake() const { poller_->wake(); }

 private:
  MessageStream(std::unique_ptr<ByteStream> stream, std::unique_ptr<Poller> poller,
                std::shared_ptr<BufferPool> pool, std::size_t limit_bytes);
  /// True: all of `target` is there.
  Result<bool> fill(MutableBytesView target, std::size_t& filled);
  Status begin_message();

  const std::unique_ptr<ByteStream> stream_;
  const std::unique_ptr<Poller> poller_;
  const std::shared_ptr<BufferPool> pool_;
  std::size_t limit_bytes_;
  Bytes sending_{};
  std::size_t sent_ = 0;
  std::array<std::byte, 4> length_{};
  std::size_t length_filled_ = 0;
  std::optional<PooledBuffer> message_{};
  std::size_t message_filled_ = 0;
  bool has_received_ = false;
  bool wants_write_ = false;
  Poller::Interest watched_{};
};

}  // namespace headrace::ignite
