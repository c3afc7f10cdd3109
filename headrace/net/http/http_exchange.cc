#include "headrace/net/http/http_exchange.h"

#include <algorithm>
#include <cstring>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kProgressBytes = 32 << 10;
// The most that one call receives if a checksum is wanted: then the bytes are still in the core's own cache.
// Also the amount of a long body that a thread waits for, so that it is not woken for each packet.
constexpr std::uint64_t kBytesAtOnce = 256 << 10;
constexpr std::size_t kShortBodyBytes = 16 << 10;  // is sent with the head
// RFC 9110, section 10.1.1: a client that sent "Expect" must not wait without a limit, since old servers do
// not answer.
constexpr milliseconds kContinueTimeout{1'000};

std::string request_head(const HttpRequest& request, const HttpProxy* proxy) {
  const std::string origin = proxy ? concat("http://", request.endpoint.host_field()) : "";
  std::string head = concat(request.method, ' ', origin, request.target, " HTTP/1.1\r\n");
  if (proxy && !proxy->authorization.empty())
    head += concat("Proxy-Authorization: ", proxy->authorization, "\r\n");
  if (!find_header(request.headers, "Host")) head += concat("Host: ", request.endpoint.host_field(), "\r\n");
  for (const HttpHeader& header : request.headers) head += concat(header.name, ": ", header.value, "\r\n");
  if (!request.body.empty() || request.method == "PUT" || request.method == "POST") {
    head += concat("Content-Length: ", request.body.size(), "\r\n");
  }
  if (request.expect_continue && !request.body.empty()) head += "Expect: 100-continue\r\n";
  return head + "\r\n";
}

}  // namespace

bool HttpConnection::is_quiet() {
  std::byte unexpected;
  return stream->try_receive({&unexpected, 1}).state == IoAttempt::State::kWantRead;
}

ProgressLimit::ProgressLimit(milliseconds longest, Time now)
    : longest_(std::clamp(longest, milliseconds(0), milliseconds(std::chrono::hours(24)))),
      until_(now + longest_) {}

void ProgressLimit::moved(std::size_t bytes, Time now) {
  moved_bytes_ += bytes;
  if (moved_bytes_ < kProgressBytes) return;
  moved_bytes_ = 0;
  phase_done(now);
}

Error ProgressLimit::exceeded() const {
  return {Code::kDeadlineExceeded, concat("no progress for ", longest_.count(), " ms")};
}

HttpExchange::HttpExchange(HttpConnection& connection, const HttpRequest& request, const HttpProxy* proxy,
                           const HttpLimits& limits, Time now)
    : connection_(connection),
      request_(request),
      parser_(request.method, limits),
      progress_(request.stall_timeout, now),
      begin_time_(now),
      now_(now),
      head_(request_head(request, proxy)),
      body_left_(request.body) {
  if (request.body.size() <= kShortBodyBytes) {
    head_.append(as_text(request.body));
    body_left_ = {};
  }
  to_send_ = as_bytes(head_);
}

HttpExchange::Time HttpExchange::wake_at() const {
  return continue_until_ ? std::min(*continue_until_, progress_.until()) : progress_.until();
}

void HttpExchange::advance(bool readable, Time now) {
  now_ = now;
  GoOn more = true;
  while (more && !is_over()) {
    switch (stage_) {
      case Stage::kSending:
        more = send(std::exchange(readable, false));
        break;
      case Stage::kAwaitingContinue:
        more = await_continue();
        break;
      case Stage::kHead:
        more = read_head();
        break;
      case Stage::kBody:
        more = read_body();
        break;
    }
  }
  if (!is_over() && now_ >= progress_.until()) finish(progress_.exceeded());
}

HttpExchange::GoOn HttpExchange::wait_for(IoAttempt::State state) {
  interest_ = {.read = state == IoAttempt::State::kWantRead, .write = state == IoAttempt::State::kWantWrite};
  return false;
}

HttpExchange::GoOn HttpExchange::next_stage(Stage stage) {
  progress_.phase_done(now_);
  if (stage == Stage::kBody) head_after_ = now_ - begin_time_;
  stage_ = stage;
  return true;
}

HttpExchange::GoOn HttpExchange::finish(Result<HttpResponse> outcome) {
  connection_.stream->wake_for(1);
  outcome_ = std::move(outcome);
  return false;
}

HttpExchange::GoOn HttpExchange::lose(std::string_view doing) {
  return finish(Error{Code::kUnavailable, concat("the connection was lost while ", doing, ": ",
                                                 why_lost_.empty() ? "closed by the server" : why_lost_)});
}

HttpExchange::Early HttpExchange::parse_early() {
  Early seen = Early::kNothing;
  while (begin_ != end_) {
    Result<HttpResponseParser::Step> step = parser_.next(unparsed());
    if (!step) {
      finish(std::move(step).error());
      return Early::kBroken;
    }
    begin_ += step->consumed;
    if (step->event == HttpResponseParser::Event::kHead) return Early::kFinal;
    if (step->event == HttpResponseParser::Event::kInterim && parser_.status() == 100)
      seen = Early::kContinue;
  }
  return seen;
}

// Called while sending. A readable socket may mean an answer, an interim answer (a 100 Continue that came
// after the wait for it), the end of the connection, or just a TLS session ticket. Even if the server closed
// the connection while we were sending, its reason may have arrived. Returns false if sending is over.
HttpExchange::GoOn HttpExchange::receive_early() {
  begin_ = end_ = 0;
  const IoAttempt early = connection_.stream->try_receive(connection_.buffer);
  if (early.state == IoAttempt::State::kWantRead || early.state == IoAttempt::State::kWantWrite) return true;
  if (early.state != IoAttempt::State::kDone) {
    why_lost_ = early.why;
    next_stage(Stage::kHead);
    return false;
  }
  answered_ = true;
  end_ = early.bytes;
  const Early seen = parse_early();
  if (seen == Early::kFinal) next_stage(Stage::kBody);
  return seen == Early::kNothing || seen == Early::kContinue;
}

HttpExchange::GoOn HttpExchange::send(bool readable) {
  if (readable && !receive_early()) return !is_over();
  while (!to_send_.empty()) {
    const IoAttempt attempt = connection_.stream->try_send(to_send_);
    if (attempt.state == IoAttempt::State::kDone) {
      progress_.moved(attempt.bytes, now_);
      to_send_ = to_send_.subspan(attempt.bytes);
      continue;
    }
    if (attempt.state == IoAttempt::State::kFailed || attempt.state == IoAttempt::State::kEnd) {
      why_lost_ = attempt.why;
      return next_stage(Stage::kHead);
    }
    wait_for(attempt.state);
    interest_.read = true;  // the answer may come before everything is sent
    return false;
  }
  if (!body_left_.empty()) {
    to_send_ = std::exchange(body_left_, {});
    if (!request_.expect_continue) return true;
    continue_until_ = now_ + kContinueTimeout;
    return next_stage(Stage::kAwaitingContinue);
  }
  sent_all_ = true;
  return next_stage(Stage::kHead);
}

HttpExchange::GoOn HttpExchange::await_continue() {
  const Early seen = parse_early();
  if (seen == Early::kBroken) return false;
  if (seen == Early::kNothing && now_ < *continue_until_) return fill();
  continue_until_.reset();
  return next_stage(seen == Early::kFinal ? Stage::kBody : Stage::kSending);
}

HttpExchange::GoOn HttpExchange::fill() {
  begin_ = end_ = 0;
  const IoAttempt attempt = connection_.stream->try_receive(connection_.buffer);
  switch (attempt.state) {
    case IoAttempt::State::kDone:
      answered_ = true;
      end_ = attempt.bytes;
      progress_.moved(attempt.bytes, now_);
      if (stage_ == Stage::kBody && now_ - begin_time_ < request_.trickle_time) progress_.phase_done(now_);
      return true;
    case IoAttempt::State::kWantRead:
      connection_.stream->wake_for(1);
      return wait_for(attempt.state);
    case IoAttempt::State::kWantWrite:
      return wait_for(attempt.state);
    case IoAttempt::State::kEnd:
    case IoAttempt::State::kFailed:
      break;
  }
  if (why_lost_.empty()) why_lost_ = attempt.why;
  if (stage_ == Stage::kBody && attempt.state == IoAttempt::State::kEnd) {
    if (const Status complete = parser_.at_end_of_input(); !complete) lose(complete.error().message);
    return !is_over();
  }
  if (stage_ == Stage::kBody) return lose("reading the answer");
  return lose(answered_ ? "reading the head of the answer" : "waiting for the answer");
}

HttpExchange::GoOn HttpExchange::read_head() {
  Result<HttpResponseParser::Step> step = parser_.next(unparsed());
  if (!step) return finish(std::move(step).error());
  begin_ += step->consumed;
  if (step->event == HttpResponseParser::Event::kNeedMore) return fill();
  if (step->event == HttpResponseParser::Event::kHead) return next_stage(Stage::kBody);
  return true;
}

bool HttpExchange::takes_body_directly() const {
  return parser_.status() / 100 == 2 && !request_.target_memory.empty();
}

std::uint64_t HttpExchange::room() const {
  return takes_body_directly() ? request_.target_memory.size() : request_.max_body_bytes;
}

HttpExchange::GoOn HttpExchange::read_body() {
  if (parser_.announced_bytes().value_or(0) > room()) return end_too_long();
  if (begin_ == end_ && takes_body_directly() && parser_.direct_bytes() > 0)
    return read_directly(parser_.direct_bytes());
  Result<HttpResponseParser::Step> step = parser_.next(unparsed());
  if (!step) return finish(std::move(step).error());
  begin_ += step->consumed;
  switch (step->event) {
    case HttpResponseParser::Event::kBody:
      return take_body_event(*step);
    case HttpResponseParser::Event::kEnd:
      reusable_ = sent_all_ && parser_.keep_alive() && begin_ == end_;
      return end_answered();
    case HttpResponseParser::Event::kNeedMore:
      // A direct read may be possible now that the buffer is empty.
      return takes_body_directly() && parser_.direct_bytes() > 0 ? true : fill();
    default:
      return true;
  }
}

HttpExchange::GoOn HttpExchange::end_answered() {
  response_.status = parser_.status();
  response_.headers = std::move(parser_.headers());
  response_.tls_version = connection_.stream->tls_version();
  return finish(std::move(response_));
}

HttpExchange::GoOn HttpExchange::end_too_long() {
  if (takes_body_directly() && request_.leaves_longer_body) {
    response_.left_body = true;
    response_.body_bytes = 0;
    response_.body_crc32c = 0;
    return end_answered();
  }
  return finish(Error{Code::kDataLoss,
                      concat("the body of the answer is longer than the ", room(), " bytes expected")});
}

// Accounts for `bytes` further bytes of the body, which are now in their place.
void HttpExchange::took(std::size_t bytes) {
  if (request_.with_crc32c && takes_body_directly()) {
    const MutableBytesView piece = request_.target_memory.subspan(response_.body_bytes, bytes);
    response_.body_crc32c = crc32c(piece, response_.body_crc32c);
  }
  response_.body_bytes += bytes;
}

HttpExchange::GoOn HttpExchange::take_body_event(const HttpResponseParser::Step& step) {
  if (step.data.size() > room() - response_.body_bytes) return end_too_long();
  if (takes_body_directly()) {
    std::memcpy(request_.target_memory.data() + response_.body_bytes, step.data.data(), step.data.size());
  } else {
    append(response_.body, step.data);
  }
  took(step.data.size());
  return true;
}

HttpExchange::GoOn HttpExchange::read_directly(std::uint64_t most) {
  const std::uint64_t at_once = request_.with_crc32c ? std::min(most, kBytesAtOnce) : most;
  const IoAttempt attempt =
      connection_.stream->try_receive(request_.target_memory.subspan(response_.body_bytes, at_once));
  switch (attempt.state) {
    case IoAttempt::State::kDone:
      answered_ = true;
      parser_.skip(attempt.bytes);
      took(attempt.bytes);
      progress_.moved(attempt.bytes, now_);
      return true;
    case IoAttempt::State::kWantRead:
      connection_.stream->wake_for(std::min(most, kBytesAtOnce));
      return wait_for(attempt.state);
    case IoAttempt::State::kWantWrite:
      return wait_for(attempt.state);
    case IoAttempt::State::kEnd:
      return lose(concat("reading the body of the answer, ", most, " bytes before its end"));
    case IoAttempt::State::kFailed:
      why_lost_ = attempt.why;
      return lose("reading the answer");
  }
  return false;
}

}  // namespace headrace
