#include "headrace/net/ignite/message_stream.h"

#include <algorithm>
#include <new>

#include "headrace/base/text.h"
#include "headrace/net/ignite/handshake.h"

namespace headrace::ignite {
namespace {

// Waking a thread for fewer bytes would cost a system call per few kilobytes; with more, the socket's buffer
// would fill up.
constexpr std::size_t kWakeForBytes = 64 << 10;

}  // namespace

MessageStream::MessageStream(std::unique_ptr<ByteStream> stream, std::unique_ptr<Poller> poller,
                             std::shared_ptr<BufferPool> pool, std::size_t limit_bytes)
    : stream_(std::move(stream)),
      poller_(std::move(poller)),
      pool_(std::move(pool)),
      limit_bytes_(limit_bytes) {}

MessageStream::~MessageStream() { poller_->forget(stream_->fd()); }

Result<std::unique_ptr<MessageStream>> MessageStream::create(std::unique_ptr<ByteStream> stream,
                                                             std::shared_ptr<BufferPool> pool,
                                                             std::size_t limit_bytes) {
  HEADRACE_TRY(std::unique_ptr<Poller> poller, Poller::create());
  return std::unique_ptr<MessageStream>(
      new MessageStream(std::move(stream), std::move(poller), std::move(pool), limit_bytes));
}

void MessageStream::start(Bytes message) {
  sending_ = std::move(message);
  sent_ = 0;
}

Status MessageStream::try_send() {
  wants_write_ = false;
  while (is_sending()) {
    const IoAttempt attempt = stream_->try_send(BytesView(sending_).subspan(sent_));
    switch (attempt.state) {
      case IoAttempt::State::kDone:
        sent_ += attempt.bytes;
        break;
      case IoAttempt::State::kWantWrite:
        wants_write_ = true;
        return {};
      case IoAttempt::State::kWantRead:
        return {};
      case IoAttempt::State::kEnd:
      case IoAttempt::State::kFailed:
        return Error{Code::kUnavailable, concat("the connection broke: ", attempt.why)};
    }
  }
  sending_.clear();
  sent_ = 0;
  return {};
}

Result<bool> MessageStream::fill(MutableBytesView target, std::size_t& filled) {
  while (filled < target.size()) {
    const IoAttempt attempt = stream_->try_receive(target.subspan(filled));
    switch (attempt.state) {
      case IoAttempt::State::kDone:
        filled += attempt.bytes;
        received_bytes_ += attempt.bytes;
        break;
      case IoAttempt::State::kWantWrite:
        wants_write_ = true;
        return false;
      case IoAttempt::State::kWantRead:
        stream_->wake_for(std::clamp<std::size_t>(target.size() - filled, 1, kWakeForBytes));
        return false;
      case IoAttempt::State::kEnd:
        return Error{Code::kUnavailable, "the node closed the connection"};
      case IoAttempt::State::kFailed:
        return Error{Code::kUnavailable, concat("the connection broke: ", attempt.why)};
    }
  }
  return true;
}

Status MessageStream::begin_message() {
  const auto length = load_little_endian<std::int32_t>(length_.data());
  if (length < 1 || static_cast<std::size_t>(length) > limit_bytes_) {
    const std::string other = describe_other_protocol(length_);
    if (!other.empty()) return Error{Code::kUnavailable, other};
    return Error{Code::kUnavailable, concat("a message claims ", length, " bytes; the limit is ",
                                            limit_bytes_, ": if the page is too large, lower page_rows; ",
                                            "otherwise this is another protocol, or the data is damaged")};
  }
  try {
    message_ = pool_->take(static_cast<std::size_t>(length));
  } catch (const std::bad_alloc&) {
    return Error{Code::kResourceExhausted, concat("no memory for a message of ", length, " bytes")};
  }
  message_filled_ = 0;
  return {};
}

Result<std::optional<PooledBuffer>> MessageStream::try_receive() {
  if (!is_sending()) wants_write_ = false;  // an earlier TLS read may have set it
  if (!message_) {
    HEADRACE_TRY(const bool has_length, fill(length_, length_filled_));
    if (!has_length) return std::optional<PooledBuffer>();
    HEADRACE_CHECK(begin_message());
  }
  HEADRACE_TRY(const bool is_whole, fill(message_->bytes(), message_filled_));
  if (!is_whole) return std::optional<PooledBuffer>();
  stream_->wake_for(1);
  length_filled_ = 0;
  return std::exchange(message_, std::nullopt);
}

Status MessageStream::wait(Time until) {
  const Poller::Interest interest{.read = true, .write = wants_write_};
  if (!(watched_ == interest)) {
    HEADRACE_CHECK(poller_->watch(stream_->fd(), interest, 0));
    watched_ = interest;
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  HEADRACE_CHECK(poller_->wait(left));
  return {};
}

}  // namespace headrace::ignite
