#pragma once

/// \file One request until its answer has arrived, on a kept connection or a new one. If a kept connection
/// turns out to be closed, the request is sent once more. Internal to the HTTP client.

#include <optional>

#include "headrace/net/connector.h"
#include "headrace/net/http/http_connections.h"
#include "headrace/net/http/http_exchange.h"

namespace headrace {

/// Not thread-safe. Borrows the arguments that it gets by reference, and must not be moved.
class HttpTransfer {
 public:
  using Time = ProgressLimit::Time;

  HttpTransfer(HttpConnections& connections, HttpConnections::Place place, const HttpRequest& request,
               Poller& poller, std::uint64_t tag, Time now);
  ~HttpTransfer();

  /// Continues until the request is over, or until the caller must wait with the poller, at most until
  /// `wake_at`.
  void advance(bool readable, Time now);
  bool is_over() const { return outcome_.has_value(); }
  Time wake_at() const;
  /// How long the head of the answer took on its connection. None before it has arrived.
  std::optional<Time::duration> head_after() const;
  /// When the exchange on this connection began. None before that.
  std::optional<Time> asked_at() const {
    return exchange_ ? std::optional(exchange_->begun_at()) : std::nullopt;
  }
  bool is_overloaded() const {
    return head_after() && (exchange_->status() == 429 || exchange_->status() == 503);
  }
  /// Whether the head of an answer has arrived that another attempt would not change.
  bool has_definite_head() const {
    return head_after() && exchange_->status() < 500 && exchange_->status() != 429 &&
           exchange_->status() != 408;
  }

  /// The answer. REQUIRES: the request is over.
  /// \error as for HttpClient::perform; the message does not name the request
  Result<HttpResponse> take_response() { return *std::move(outcome_); }

 private:
  using GoOn = bool;

  void connect();
  ConnectTarget target() const;
  GoOn finish_connecting(bool readable, Time now);
  GoOn exchange(bool readable, Time now);
  void begin_exchange(Time now);
  void finish(Result<HttpResponse> outcome);
  void watch(int fd, Poller::Interest interest);
  void stop_watching();

  HttpConnections& connections_;
  HttpConnections::Place place_;
  const HttpRequest& request_;
  const HttpProxy* const proxy_;  // null: no proxy
  Poller& poller_;
  const std::uint64_t tag_;
  bool on_kept_connection_ = false;

  // Exactly one of the two is set until the request is over.
  std::optional<ConnectAttempt> connecting_;
  std::optional<HttpExchange> exchange_;
  int watched_ = -1;  // descriptor that the exchange watches
  Poller::Interest interest_{};
  std::optional<Result<HttpResponse>> outcome_;
};

}  // namespace headrace
