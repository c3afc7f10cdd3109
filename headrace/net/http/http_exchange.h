#pragma once

/// \file One request and its answer on one connection, without blocking. Internal to the HTTP client.

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
  Bytes buffer = Bytes(64 << 10);  // used by exchanges; has no content between them

  /// Whether nothing has arrived since the last answer, not even the end, so that the connection can take
  /// another request.
  bool is_quiet();
};

/// Limits the time without progress. Progress is the end of a phase, or another 32 KiB, so that a trickle of
/// bytes is no progress.
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

/// Not thread-safe. Borrows the connection and the request, which must stay in place.
class HttpExchange {
 public:
  using Time = ProgressLimit::Time;

  /// `proxy` is the proxy that forwards the request. Null if the connection leads to the server itself.
  HttpExchange(HttpConnection& connection, const HttpRequest& request, const HttpProxy* proxy,
               const HttpLimits& limits, Time now);

  /// Continues until the exchange is over, or until the caller must wait for `interest`, at most until
  /// `wake_at`. `readable`: the connection may be readable, so that an answer before the end of sending is
  /// noticed.
  void advance(bool readable, Time now);

  bool is_over() const { return outcome_.has_value(); }
  Poller::Interest interest() const { return interest_; }
  Time wake_at() const;

  /// Whether any byte of the answer has arrived. If not, the server may have closed the connection before it
  /// saw the request.
  bool answered() const { return answered_; }
  /// The time from the beginning of the exchange until the head of the final answer. None before that.
  std::optional<Time::duration> head_after() const { return head_after_; }
  int status() const { return parser_.status(); }
  Time begun_at() const { return begin_time_; }

  // The following two may be called once the exchange is over.

  /// The answer, whatever its status, even if it came before the whole request was sent. Call it once.
  /// \error kUnavailable       the connection was lost
  /// \error kDataLoss          the answer is malformed, or larger than the request allows
  /// \error kDeadlineExceeded  there was no progress for HttpRequest::stall_timeout
  Result<HttpResponse> take_response() { return *std::move(outcome_); }
  /// Whether the connection can take another request.
  bool is_connection_reusable() const { return reusable_; }

 private:
  enum class Stage { kSending, kAwaitingContinue, kHead, kBody };
  // Whether more can be done without waiting.
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
  // Parses interim answers in the buffer, up to the head of the final answer.
  enum class Early { kNothing, kContinue, kFinal, kBroken };
  Early parse_early();
  // Receives into the buffer, whose content must have been used up.
  GoOn fill();
  GoOn wait_for(IoAttempt::State state);
  GoOn next_stage(Stage stage);
  // These two end the exchange, and return false.
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
  std::string head_;     // the request's head, followed by its body if that is short
  BytesView to_send_;    // the unsent part of the head, later of the body
  BytesView body_left_;  // the part of the request's body that comes after `to_send_`
  bool sent_all_ = false;
  std::optional<Time> continue_until_;
  std::size_t begin_ = 0;  // bounds of the unparsed bytes in the connection's buffer
  std::size_t end_ = 0;
  std::string why_lost_;
  bool answered_ = false;
  bool reusable_ = false;
  HttpResponse response_;
  std::optional<Result<HttpResponse>> outcome_;
};

}  // namespace headrace
