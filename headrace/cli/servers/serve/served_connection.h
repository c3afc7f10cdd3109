#pragma once

/// \file The requests and answers on one connection, without its socket: one request at a time, in order,
/// with limits and deadlines.

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/cli/servers/serve/http_server.h"
#include "headrace/cli/servers/serve/request_parser.h"
#include "headrace/cli/servers/serve/transport.h"

namespace headrace {

/// State that all connections of a server share. Thread-safe.
struct SharedByConnections {
  SharedByConnections(HttpServerLimits with_limits, OnHead with_on_head, OnRequest with_on_request)
      : limits(with_limits),
        on_head(std::move(with_on_head)),
        on_request(std::move(with_on_request)),
        budget(std::make_shared<ByteBudget>(limits.bytes_in_flight)) {}

  const HttpServerLimits limits;
  const OnHead on_head;
  const OnRequest on_request;
  const std::shared_ptr<ByteBudget> budget;
  std::atomic<bool> is_draining{false};
  std::atomic<std::uint64_t> refused_requests{0};

  void connection_opened() { ++connections_; }
  void connection_closed() { went(connections_); }
  void request_began() { ++requests_; }
  void request_ended() { went(requests_); }
  std::size_t connections() const { return connections_; }
  std::size_t requests() const { return requests_; }
  bool wait_until_idle(std::chrono::steady_clock::time_point deadline);

 private:
  void went(std::atomic<std::size_t>& count);
  std::atomic<std::size_t> connections_{0};
  std::atomic<std::size_t> requests_{0};
  std::mutex mutex_;
  std::condition_variable idle_;
};

/// One connection. All functions must be called in the thread of the transport's loop, except those for
/// Responder.
class ServedConnection final : public TransportUser {
 public:
  ServedConnection(std::shared_ptr<SharedByConnections> shared, std::string remote_address);
  ~ServedConnection() override;

  /// Call it once, before anything else.
  void attach(std::unique_ptr<Transport> transport);

  void opened(std::string client_subject) override;
  void received(std::size_t bytes) override;
  void receive_ended(bool is_orderly) override;
  void sent(std::size_t bytes) override;
  void send_failed() override;
  void tick(Clock::time_point now) override;
  void woken() override;
  void abandon() override;
  std::optional<Clock::time_point> idle_since() const override;

  // For Responder, from any thread.
  void answer(HttpAnswer answer);
  void resume(std::function<void()> work);
  Status reserve_answer(std::uint64_t bytes) { return answer_charge_.reserve_answer(bytes); }
  bool is_gone() const { return is_gone_; }
  void on_gone(std::function<void()> callback);

 private:
  enum class State {
    kOpening,
    kHead,
    kBody,
    kStreaming,
    kAnswering,
    kWriting,
    kDiscarding,
    kLingering,
    kClosed
  };

  std::string_view buffered() const { return {buffer_.get() + begin_, end_ - begin_}; }
  void advance();
  bool step();
  bool take_head();
  bool begin_request();
  std::optional<HttpAnswer> admit_body(const HeadVerdict& verdict);
  bool take_body();
  bool take_chunks();
  bool take_discarded();
  std::optional<HttpAnswer> admit_stream(std::uint64_t length);
  void begin_stream();
  bool take_stream();
  bool take_stream_chunks();
  bool take_stream_bytes();
  std::uint64_t stream_left() const { return stream_left_ - body_.size(); }
  void put_piece(bool is_last);
  void end_stream(Error why);
  std::function<void()> waker();
  void dispatch();
  std::optional<Refusal> inflate();
  void refuse(HttpAnswer answer, bool close_after);
  void refuse(const Refusal& refusal);
  HttpAnswer refusal_answer(const Refusal& refusal) const;
  void begin_answer(HttpAnswer answer);
  void send_more();
  bool take_answer_piece();
  void drop_answer_stream();
  void drop_streams();
  void drop_incoming_stream();
  void drop_answer(HttpAnswer answer);
  void send_continue();
  void end_answer();
  void end_request();
  void receive_more();
  bool make_room(bool may_grow);
  bool is_transfer_late(Clock::time_point now);
  void begin_transfer();
  void tell_gone();
  bool is_answer_awaited() const { return state_ == State::kAnswering || state_ == State::kStreaming; }
  void close();

  const std::shared_ptr<SharedByConnections> shared_;
  const std::string remote_address_;
  std::string client_subject_;
  std::unique_ptr<Transport> transport_;
  State state_ = State::kOpening;
  bool is_advancing_ = false;

  // Bytes that were received and not used yet. The memory does not move while bytes are being received into
  // it.
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool is_receiving_ = false;
  bool is_receiving_body_ = false;
  bool has_peer_ended_ = false;

  HeadScan scan_;
  RequestParser parser_;
  std::optional<RequestHead> head_;
  RequestBody body_;
  std::uint64_t body_limit_ = 0;
  bool is_head_request_ = false;
  bool is_http_1_0_ = false;
  bool close_after_ = false;
  bool is_request_open_ = false;  // it was passed to OnRequest
  std::uint64_t discard_left_ = 0;

  // A streamed body. `body_` is the piece that is being received.
  std::shared_ptr<BodyStream> stream_;  // null when it has ended
  bool is_stream_chunked_ = false;
  bool is_stream_full_ = false;    // when last checked; its other side wakes this one later
  std::uint64_t stream_left_ = 0;  // bytes not put yet: of the body, or that a chunked one may have
  ByteCharge stream_charge_;

  std::string answer_head_;
  std::string answer_body_;
  ByteCharge answer_charge_;
  std::size_t answer_sent_ = 0;
  std::shared_ptr<PieceQueue<std::string>> answer_stream_;
  std::uint64_t answer_left_ = 0;  // bytes of the stream that were not taken yet
  std::string_view continue_left_;
  bool is_sending_ = false;

  Clock::time_point waiting_since_;  // since when this waits for a head's first byte
  // When the current span for measuring the pace of a body or an answer began, and the bytes in that span; or
  // when lingering began.
  Clock::time_point transfer_since_;
  std::uint64_t transferred_ = 0;
  bool is_head_begun_ = false;
  Clock::time_point head_since_;

  std::atomic<bool> is_gone_{false};
  std::mutex mutex_;
  std::optional<HttpAnswer> incoming_;  // from another thread
  std::function<void()> work_;          // from another thread, for this connection's thread
  std::function<void()> gone_callback_;
  bool is_gone_told_ = false;
};

}  // namespace headrace
