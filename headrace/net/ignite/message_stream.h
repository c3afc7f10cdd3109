#pragma once

/// \file Whole messages over a byte stream: an int32 length, followed by as many bytes. Non-blocking, except
/// for `wait`.

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

/// Not thread-safe, except for `wake`. After an error, the stream must not be used any more.
class MessageStream {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `pool` provides the memory that messages are received into, directly from the connection. Messages
  /// larger than `limit_bytes` are refused.
  /// \error as for Poller::create
  static Result<std::unique_ptr<MessageStream>> create(std::unique_ptr<ByteStream> stream,
                                                       std::shared_ptr<BufferPool> pool,
                                                       std::size_t limit_bytes);
  ~MessageStream();

  /// Sets the size of the largest message that is accepted.
  void set_limit(std::size_t limit_bytes) { limit_bytes_ = limit_bytes; }

  bool is_sending() const { return sent_ < sending_.size(); }
  /// Begins to send a message, which includes its length. REQUIRES: !is_sending().
  void start(Bytes message);
  /// Sends as much as the connection takes now.
  /// \error kUnavailable  the connection ended or failed
  Status try_send();

  /// The next message without its length. None until the whole message has arrived; the part that has arrived
  /// is kept.
  /// \error kUnavailable        the connection ended or failed; or the length is not that of a message, or is
  ///                            larger than the limit
  /// \error kResourceExhausted  there is no memory for the message
  Result<std::optional<PooledBuffer>> try_receive();
  std::uint64_t received_bytes() const { return received_bytes_; }

  /// Blocks until more can be sent or received, `wake` is called, or the time is over.
  /// \error as for Poller::wait
  Status wait(Time until);
  /// Ends the current wait or, if there is none, the next one. May be called from any thread.
  void wake() const { poller_->wake(); }

 private:
  MessageStream(std::unique_ptr<ByteStream> stream, std::unique_ptr<Poller> poller,
                std::shared_ptr<BufferPool> pool, std::size_t limit_bytes);
  /// Returns true once `target` is full.
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
  std::uint64_t received_bytes_ = 0;
  bool wants_write_ = false;
  Poller::Interest watched_{};
};

}  // namespace headrace::ignite
