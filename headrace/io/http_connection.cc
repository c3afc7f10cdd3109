#include "headrace/io/http_connection.h"

#include <poll.h>

#include <algorithm>
#include <cstring>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::size_t kBufferBytes = 64 << 10;
// RFC 9110, section 10.1.1: a client that asked first must not wait for ever, since old servers do not
// answer.
constexpr std::chrono::milliseconds kContinueTimeout{1'000};

std::string request_head(const HttpRequest& request) {
  std::string head = concat(request.method, ' ', request.target, " HTTP/1.1\r\n");
  if (!find_header(request.headers, "Host")) head += concat("Host: ", request.endpoint.host_field(), "\r\n");
  for (const HttpHeader& header : request.headers) head += concat(header.name, ": ", header.value, "\r\n");
  if (!request.body.empty() || request.method == "PUT" || request.method == "POST") {
    head += concat("Content-Length: ", request.body.size(), "\r\n");
  }
  if (request.expect_continue && !request.body.empty()) head += "Expect: 100-continue\r\n";
  return head + "\r\n";
}

}  // namespace

HttpConnection::HttpConnection(std::unique_ptr<ByteStream> stream, const HttpLimits& limits)
    : stream_(std::move(stream)), limits_(limits), buffer_(kBufferBytes) {}

Error HttpConnection::lost(std::string_view doing) const {
  return {Code::kUnavailable, concat("the connection was lost while ", doing, ": ",
                                     why_lost_.empty() ? "closed by the server" : why_lost_)};
}

bool HttpConnection::is_quiet() {
  std::byte unexpected;
  return stream_->try_receive({&unexpected, 1}).state == IoAttempt::State::kWantRead;
}

Result<HttpResponse> HttpConnection::exchange(const HttpRequest& request, IoWait& wait) {
  reusable_ = false;
  answered_ = false;
  head_read_ = false;
  why_lost_.clear();
  begin_ = end_ = 0;
  HttpResponseParser parser(request.method, limits_);
  HEADRACE_TRY(const Sent sent, send_request(request, wait, parser));
  wait.phase_done();
  // Even when the server closed while we were sending, its reason may have arrived.
  HEADRACE_CHECK(read_head(wait, parser));
  wait.phase_done();
  HttpResponse response{.status = parser.status(), .headers = std::move(parser.headers())};
  HEADRACE_CHECK(read_body(request, wait, parser, response));
  reusable_ = sent == Sent::kAll && parser.keep_alive() && begin_ == end_;
  return response;
}

Result<HttpConnection::Sent> HttpConnection::send_request(const HttpRequest& request, IoWait& wait,
                                                          HttpResponseParser& parser) {
  std::string head = request_head(request);
  // A short body travels in the same packet.
  const bool one_piece = request.body.size() <= 16 << 10;
  if (one_piece) head.append(as_text(request.body));
  HEADRACE_TRY(const Sent sent, send(as_bytes(head), wait));
  if (sent != Sent::kAll || one_piece) return sent;
  if (request.expect_continue) {
    wait.phase_done();
    HEADRACE_TRY(const bool go_on, wait_for_continue(wait, parser));
    if (!go_on) return Sent::kAnswerCameFirst;
  }
  return send(request.body, wait);
}

// False: the head of the final answer, or the end of the connection, is there instead.
Result<bool> HttpConnection::wait_for_continue(IoWait& wait, HttpResponseParser& parser) {
  while (true) {
    HEADRACE_TRY(const short shown, wait.poll(stream_->fd(), POLLIN, kContinueTimeout));
    if (shown == 0) return true;
    const IoAttempt attempt = stream_->try_receive(buffer_);
    if (attempt.state == IoAttempt::State::kWantRead || attempt.state == IoAttempt::State::kWantWrite)
      continue;
    if (attempt.state != IoAttempt::State::kDone) {
      why_lost_ = attempt.why;
      return false;
    }
    answered_ = true;
    begin_ = 0;
    end_ = attempt.bytes;
    while (begin_ != end_) {
      HEADRACE_TRY(const HttpResponseParser::Step step, parser.next(unparsed()));
      begin_ += step.consumed;
      head_read_ = step.event == HttpResponseParser::Event::kHead;
      if (head_read_) return false;
      if (step.event == HttpResponseParser::Event::kInterim && parser.status() == 100) return true;
    }
  }
}

Result<HttpConnection::Sent> HttpConnection::send(BytesView data, IoWait& wait) {
  while (!data.empty()) {
    const IoAttempt attempt = stream_->try_send(data);
    if (attempt.state == IoAttempt::State::kDone) {
      wait.moved(attempt.bytes);
      data = data.subspan(attempt.bytes);
      continue;
    }
    if (attempt.state == IoAttempt::State::kFailed || attempt.state == IoAttempt::State::kEnd) {
      why_lost_ = attempt.why;
      return Sent::kLost;
    }
    const bool to_write = attempt.state == IoAttempt::State::kWantWrite;
    HEADRACE_TRY(const short shown,
                 wait.poll(stream_->fd(), static_cast<short>(POLLIN | (to_write ? POLLOUT : 0))));
    if ((shown & POLLIN) == 0 || end_ == buffer_.size()) continue;
    // Readable may mean an answer, the end, or just a TLS session ticket.
    const IoAttempt early = stream_->try_receive(MutableBytesView(buffer_).subspan(end_));
    if (early.state == IoAttempt::State::kDone) {
      answered_ = true;
      end_ += early.bytes;
      return Sent::kAnswerCameFirst;
    }
    if (early.state == IoAttempt::State::kFailed || early.state == IoAttempt::State::kEnd) {
      why_lost_ = early.why;
      return Sent::kLost;
    }
  }
  return Sent::kAll;
}

Result<bool> HttpConnection::receive(MutableBytesView target, IoWait& wait, std::size_t& received) {
  while (true) {
    const IoAttempt attempt = stream_->try_receive(target);
    switch (attempt.state) {
      case IoAttempt::State::kDone:
        answered_ = true;
        received = attempt.bytes;
        wait.moved(attempt.bytes);
        return true;
      case IoAttempt::State::kWantRead:
        HEADRACE_CHECK(wait.poll(stream_->fd(), POLLIN));
        break;
      case IoAttempt::State::kWantWrite:
        HEADRACE_CHECK(wait.poll(stream_->fd(), POLLOUT));
        break;
      case IoAttempt::State::kEnd:
        return false;
      case IoAttempt::State::kFailed:
        why_lost_ = attempt.why;
        return lost("reading the answer");
    }
  }
}

Result<bool> HttpConnection::fill(IoWait& wait) {
  begin_ = end_ = 0;
  std::size_t received = 0;
  HEADRACE_TRY(const bool open, receive(buffer_, wait, received));
  end_ = received;
  return open;
}

Status HttpConnection::read_head(IoWait& wait, HttpResponseParser& parser) {
  while (!head_read_) {
    HEADRACE_TRY(const HttpResponseParser::Step step, parser.next(unparsed()));
    begin_ += step.consumed;
    head_read_ = step.event == HttpResponseParser::Event::kHead;
    if (head_read_) break;
    if (step.event != HttpResponseParser::Event::kNeedMore) continue;
    HEADRACE_TRY(const bool open, fill(wait));
    if (!open) return lost(answered_ ? "reading the head of the answer" : "waiting for the answer");
  }
  return {};
}

Status HttpConnection::read_directly(MutableBytesView target, IoWait& wait, HttpResponseParser& parser) {
  while (!target.empty()) {
    std::size_t received = 0;
    HEADRACE_TRY(const bool open, receive(target, wait, received));
    if (!open)
      return lost(concat("reading the body of the answer, ", target.size(), " bytes before its end"));
    parser.skip(received);
    target = target.subspan(received);
  }
  return {};
}

Status HttpConnection::read_body(const HttpRequest& request, IoWait& wait, HttpResponseParser& parser,
                                 HttpResponse& response) {
  const bool to_target = response.is_success() && !request.target_memory.empty();
  const std::uint64_t room = to_target ? request.target_memory.size() : request.max_body_bytes;
  const auto too_long = [room] {
    return Error{Code::kDataLoss,
                 concat("the body of the answer is longer than the ", room, " bytes expected")};
  };
  if (parser.announced_bytes().value_or(0) > room) return too_long();
  while (true) {
    HEADRACE_TRY(const HttpResponseParser::Step step, parser.next(unparsed()));
    begin_ += step.consumed;
    if (step.event == HttpResponseParser::Event::kEnd) return {};
    if (step.event == HttpResponseParser::Event::kBody) {
      if (step.data.size() > room - response.body_bytes) return too_long();
      if (to_target) {
        std::memcpy(request.target_memory.data() + response.body_bytes, step.data.data(), step.data.size());
      } else {
        append(response.body, step.data);
      }
      response.body_bytes += step.data.size();
      continue;
    }
    if (const std::uint64_t direct = parser.direct_bytes(); to_target && direct > 0) {
      HEADRACE_CHECK(read_directly(request.target_memory.subspan(response.body_bytes, direct), wait, parser));
      response.body_bytes += direct;
      continue;
    }
    HEADRACE_TRY(const bool open, fill(wait));
    if (!open) {
      if (const Status complete = parser.at_end_of_input(); !complete) return lost(complete.error().message);
    }
  }
}

}  // namespace headrace
