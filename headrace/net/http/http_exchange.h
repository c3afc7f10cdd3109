#pragma once

/// \file One request and its answer on one connection, as far as it goes without waiting. Internal to the
/// HTTP client.

#include <chrono>
#include <optional>
#include <string>

#include "headrace/net/byte_stream.h"
#include "headrace/net/http/http_message.h"
#include "headrace/net/http/http_parser.h"
#include "headrace/net/http/http_proxy.h"
#include "headrace/net/poller.h"

namespace headrace {

/// A connection that carries one exchange after another. Not thread-safe.
struct HttpConnection {
  std::unique_ptr<ByteStream> stream;
  Bytes buffer = Bytes(64 << 10);  // for exchanges; holds nothing between them

  /// Nothing has arrived since the last answer, not even the end: worth another request.
  bool is_quiet();
};

/// The longest time without progress. Progress is the end of a phase, or 32 KiB: a trickle is none.
class ProgressLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;
  ProgressLimit(std::chrono::milliseconds longest, Time now);
  void phase_done(Time now) { until_ = now + longest_; }
  void moved(std::size_t bytes, Time now);
  Time until() const { return until_; }
  /// "no progress for 200 ms"
  Error exceeded() const;

 private:
  std::chrono::milliseconds longest_;
  Time until_;
  std::size_t moved_bytes_ = 0;
};

/// Not thread-safe. Borrows connection and request, which stay where they are.
class HttpExchange {
 public:
  using Time = ProgressLimit::Time;

  /// `proxy`: the proxy that hands the request on; null if the connection leads to the server itself.
  HttpExchange(HttpConnection& connection, const HttpRequest& request, const HttpProxy* proxy,
               const HttpLimits& limits, Time now);

  /// Goes on until it is over or would have to wait: for `interest`, and until `wake_at` at most.
  /// `readable`: the connection may be, so that an answer before the end of sending is noticed.
  void advance(bool readable, Time now);

  bool is_over() const { return outcome_.has_value(); }
  Poller::Interest interest() const { return interest_; }
  Time wake_at() const;

  /// Some byte of the answer came. If not, the server may have closed the connection before it saw the
  /// request.
  bool answered() const { return answered_; }
  /// When the head of the final answer was there, since the exchange began; none before that.
  std::optional<Time::duration> head_after() const { return head_after_; }
  int status() const { return parser_.status(); }
  Time begun_at() const { return begin_time_; }

  // Once it is over.

  /// Whatever the status; an answer that came before the request was sent in full, too.
  /// \error kUnavailable       the connection was lost
  /// \error kDataLoss          the answer is malformed, or longer than there is room for
  /// \error kDeadlineExceeded  no progress
  Result<HttpResponse> take_response() { return *std::move(outcome_); }
  /// The connection is at the start of the next answer.
  bool is_connection_reusable() const { return reusable_; }

 private:
  enum class Stage { kSending, kAwaitingContinue, kHead, kBody };
  // Whether there is more to do without waiting.
  using GoOn = bool;

  GoOn send(bool readable);
  GoOn receive_early();
  GoOn await_continue();
  GoOn read_head();
  GoOn read_body();
  GoOn read_directly(std::uint64_t most);
  GoOn end_answered();
  GoOn end_too_long();
  void took(std::size_t bytes);
  GoOn take_body_event(const HttpResponseParser::Step& step);
  // Interim answers in the buffer, until the head of the final one.
  enum class Early { kNothing, kContinue, kFinal, kBroken };
  Early parse_early();
  // Input into the buffer, all of which must have been used.
  GoOn fill();
  GoOn wait_for(IoAttempt::State state);
  GoOn next_stage(Stage stage);
  // These two end it: there is nothing more to do.
  GoOn finish(Result<HttpResponse> outcome);
  GoOn lose(std::string_view doing);

  bool takes_body_directly() const;
  std::uint64_t room() const;
  BytesView unparsed() const { return BytesView(connection_.buffer).subspan(begin_, end_ - begin_); }

  HttpConnection& connection_;
  const HttpRequest& request_;
  HttpResponseParser parser_;
  ProgressLimit progress_;
  const Time begin_time_;
  Time now_;
  std::optional<Time::duration> head_after_;
  Stage stage_ = Stage::kSending;
  Poller::Interest interest_{};
  std::string head_;     // of the request, with a short body
  BytesView to_send_;    // of the head, then of the body
  BytesView body_left_;  // of the request, after `to_send_`
  bool sent_all_ = false;
  std::optional<Time> continue_until_;
  std::size_t begin_ = 0;  // of what is not parsed, in the connection's buffer
  std::size_t end_ = 0;
  std::string why_lost_;
  bool answered_ = false;
  bool reusable_ = false;
  HttpResponse response_;
  std::optional<Result<HttpResponse>> outcome_;
};

}  // namespace headrace
