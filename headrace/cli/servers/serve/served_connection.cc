#include "headrace/cli/servers/serve/served_connection.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "headrace/base/text.h"
#include "headrace/codec/deflate.h"

namespace headrace {
namespace {

constexpr std::size_t kBufferBytes = 4096;
constexpr std::size_t kChunkBufferBytes = 32 << 10;
// A refused body up to this size is read and dropped; a connection with a larger body ends.
constexpr std::uint64_t kDiscardBytesMax = 64 << 10;
constexpr std::uint64_t kInflateAlways = 1 << 20;  // allowed at any ratio
constexpr std::size_t kInflateStep = 64 << 10;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr Refusal kBusy = {429, "the server holds as many bytes of requests as it may; try again later"};
constexpr Refusal kTooLarge = {413, "the body of the request is too large"};

// None if the server does not know the encoding.
std::optional<Compression> content_encoding(const RequestHead& head) {
  const std::string name = to_lower(head.header("content-encoding").value_or("identity"));
  if (name == "identity" || name.empty()) return Compression::kNone;
  if (name == "gzip" || name == "x-gzip") return Compression::kGzip;
  if (name == "deflate") return Compression::kZlib;
  return std::nullopt;
}

}  // namespace

bool SharedByConnections::wait_until_idle(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return idle_.wait_until(lock, deadline, [this] { return connections_ == 0 && requests_ == 0; });
}

void SharedByConnections::went(std::atomic<std::size_t>& count) {
  if (--count != 0 || !is_draining) return;
  const std::lock_guard lock(mutex_);
  idle_.notify_all();
}

ServedConnection::ServedConnection(std::shared_ptr<SharedByConnections> shared, std::string remote_address)
    : shared_(std::move(shared)),
      remote_address_(std::move(remote_address)),
      parser_(shared_->limits.header_count),
      stream_charge_(shared_->budget),
      answer_charge_(shared_->budget),
      waiting_since_(Clock::now()) {
  shared_->connection_opened();
}

ServedConnection::~ServedConnection() {
  if (state_ != State::kClosed) shared_->connection_closed();
  drop_streams();
}

void ServedConnection::attach(std::unique_ptr<Transport> transport) { transport_ = std::move(transport); }

// ---- what the transport reports ---------------------------------------------------------------------

void ServedConnection::opened(std::string client_subject) {
  if (state_ != State::kOpening) return;
  client_subject_ = std::move(client_subject);
  state_ = State::kHead;
  advance();
}

void ServedConnection::received(std::size_t bytes) {
  is_receiving_ = false;
  if (is_receiving_body_) {
    is_receiving_body_ = false;
    body_.added(bytes);
    transferred_ += bytes;
  } else {
    end_ += bytes;
  }
  advance();
}

void ServedConnection::receive_ended(bool is_orderly) {
  is_receiving_ = false;
  has_peer_ended_ = true;
  const bool can_go_on = state_ == State::kHead || state_ == State::kAnswering || state_ == State::kWriting;
  if (is_answer_awaited()) tell_gone();
  if (!is_orderly || !can_go_on) return close();
  advance();
}

void ServedConnection::sent(std::size_t bytes) {
  is_sending_ = false;
  if (!continue_left_.empty()) {
    continue_left_.remove_prefix(bytes);
    if (!continue_left_.empty()) {
      is_sending_ = true;
      transport_->send(as_bytes(continue_left_), {});
    } else if (state_ == State::kWriting) {
      send_more();
    }
  } else {
    answer_sent_ += bytes;
    transferred_ += bytes;
    send_more();
  }
  advance();
}

void ServedConnection::send_failed() {
  is_sending_ = false;
  if (is_answer_awaited()) tell_gone();
  close();
}

void ServedConnection::abandon() {
  if (is_answer_awaited()) tell_gone();
  close();
}

std::optional<ServedConnection::Clock::time_point> ServedConnection::idle_since() const {
  if (state_ == State::kOpening || state_ == State::kHead) return waiting_since_;
  return std::nullopt;
}

void ServedConnection::tick(Clock::time_point now) {
  const HttpServerLimits& limits = shared_->limits;
  switch (state_) {
    case State::kOpening:
      if (now - waiting_since_ > limits.head_timeout) close();
      return;
    case State::kHead: {
      if (is_head_begun_) {
        if (now - head_since_ > limits.head_timeout) refuse({408, "the head of the request took too long"});
        break;
      }
      auto patience = limits.idle_timeout;
      if (shared_->is_draining) patience = std::min(patience, limits.drain_idle_timeout);
      if (now - waiting_since_ > patience) close();
      return;
    }
    case State::kBody:
    case State::kDiscarding:
      if (is_transfer_late(now)) refuse({408, "the body of the request came too slowly"});
      break;
    case State::kStreaming:
      if (stream_->is_full()) {  // the client is not to blame
        begin_transfer();
      } else if (is_transfer_late(now)) {
        end_stream({Code::kDeadlineExceeded, "the body of the request came too slowly"});
      }
      break;
    case State::kWriting:
      if (!is_sending_) {  // the next piece of the answer has not come
        begin_transfer();
      } else if (is_transfer_late(now)) {
        close();
      }
      return;
    case State::kLingering:
      if (now - transfer_since_ > limits.linger_timeout) close();
      return;
    case State::kAnswering:
    case State::kClosed:
      return;
  }
  advance();
}

void ServedConnection::begin_transfer() {
  transfer_since_ = Clock::now();
  transferred_ = 0;
}

// A mean over the whole transfer would mislead: the system's buffers take the first megabytes at once.
bool ServedConnection::is_transfer_late(Clock::time_point now) {
  const HttpServerLimits& limits = shared_->limits;
  if (now - transfer_since_ <= limits.transfer_timeout) return false;
  const auto span_ms = static_cast<std::uint64_t>(limits.transfer_timeout.count());
  const bool is_late = transferred_ * 1000 < limits.transfer_bytes_per_s * span_ms;
  transfer_since_ = now;
  transferred_ = 0;
  return is_late;
}

// ---- the conversation -------------------------------------------------------------------------------

void ServedConnection::advance() {
  if (is_advancing_) return;
  is_advancing_ = true;
  while (step()) continue;
  is_advancing_ = false;
  const bool needs_more = state_ == State::kHead || state_ == State::kBody || state_ == State::kDiscarding ||
                          state_ == State::kLingering || (state_ == State::kStreaming && !is_stream_full_);
  if (has_peer_ended_ && needs_more) close();
  if (state_ != State::kClosed) receive_more();
}

bool ServedConnection::step() {
  switch (state_) {
    case State::kHead:
      return take_head();
    case State::kBody:
      return head_->is_chunked() ? take_chunks() : take_body();
    case State::kStreaming:
      return take_stream();
    case State::kDiscarding:
      return take_discarded();
    case State::kLingering:
      if (!is_receiving_) begin_ = end_ = 0;
      return false;
    case State::kOpening:
    case State::kAnswering:
    case State::kWriting:
    case State::kClosed:
      return false;
  }
  return false;
}

bool ServedConnection::take_head() {
  while (scan_.size() == 0 && buffered().starts_with("\r\n")) begin_ += 2;  // RFC 9112, section 2.2
  const std::string_view bytes = buffered();
  if (!bytes.empty() && !is_head_begun_) {
    is_head_begun_ = true;
    head_since_ = Clock::now();
  }
  const HeadScan::State found = bytes == "\r" ? HeadScan::State::kNeedMore : scan_.look(bytes);
  if (found == HeadScan::State::kBad) {
    refuse({400, "the request is not HTTP/1.1; if it was meant for TLS, this port may speak none"});
    return true;
  }
  if (found == HeadScan::State::kNeedMore ? bytes.size() >= shared_->limits.head_bytes
                                          : scan_.size() > shared_->limits.head_bytes) {
    refuse({431, "the head of the request is too large"});
    return true;
  }
  return found == HeadScan::State::kComplete && begin_request();
}

bool ServedConnection::begin_request() {
  const std::size_t size = scan_.size();
  head_.emplace();
  head_->remote_address_ = remote_address_;
  head_->client_subject_ = client_subject_;
  head_->received_ = Clock::now();
  const std::optional<Refusal> refusal = parser_.parse_head(buffered().substr(0, size), *head_);
  begin_ += size;
  scan_.restart();
  is_head_begun_ = false;
  if (refusal) {
    refuse(*refusal);
    return true;
  }
  is_head_request_ = head_->method() == "HEAD";
  is_http_1_0_ = head_->is_http_1_0();
  close_after_ = !parser_.keeps_alive();
  body_ = RequestBody(shared_->budget);

  HeadVerdict verdict = shared_->on_head(*head_);
  const bool is_server_refusal = !verdict.refusal;
  std::optional<HttpAnswer> answer = is_server_refusal ? admit_body(verdict) : std::move(verdict.refusal);
  const bool expects = head_->header("expect").has_value();
  if (answer) {
    const std::uint64_t left = head_->content_length().value_or(0);
    if (is_server_refusal) ++shared_->refused_requests;
    const bool can_discard = !expects && !head_->is_chunked() && left <= kDiscardBytesMax;
    discard_left_ = can_discard ? left : 0;
    refuse(std::move(*answer), !can_discard);
    return true;
  }
  begin_transfer();
  state_ = State::kBody;
  const bool has_body = head_->is_chunked() || head_->content_length().value_or(0) > 0;
  if (expects && !is_http_1_0_ && has_body && buffered().empty()) send_continue();
  if (verdict.is_streamed) begin_stream();
  return true;
}

// Checks what can be checked before the body is read, and makes room for it.
std::optional<HttpAnswer> ServedConnection::admit_body(const HeadVerdict& verdict) {
  body_limit_ = verdict.body_bytes_max.value_or(shared_->limits.body_bytes);
  if (!verdict.is_streamed) body_limit_ = std::min(body_limit_, shared_->limits.bytes_in_flight);
  const std::uint64_t length = head_->content_length().value_or(0);
  if (const auto expect = head_->header("expect"); expect && to_lower(*expect) != "100-continue")
    return error_answer(417, "the server knows only the expectation 100-continue");
  if (!content_encoding(*head_))
    return error_answer(415, "the server knows the content encodings gzip, deflate and identity");
  if (verdict.is_streamed) return admit_stream(length);
  if (length > body_limit_) return error_answer(kTooLarge.status, kTooLarge.reason);
  const bool is_full = length == 0 && shared_->budget->is_exhausted();
  if (is_full || !body_.reserve(length)) return refusal_answer(kBusy);
  return std::nullopt;
}

bool ServedConnection::take_body() {
  if (is_receiving_body_) return false;
  const std::uint64_t length = head_->content_length().value_or(0);
  if (const std::size_t taken = std::min<std::uint64_t>(length - body_.size(), end_ - begin_); taken > 0) {
    std::memcpy(body_.room().data(), buffer_.get() + begin_, taken);
    body_.added(taken);
    begin_ += taken;
    transferred_ += taken;
  }
  if (body_.size() < length) return false;
  dispatch();
  return true;
}

bool ServedConnection::take_chunks() {
  if (begin_ == end_) return false;
  const RequestParser::ChunkStep step = parser_.decode(buffered(), body_, body_limit_);
  begin_ += step.consumed;
  transferred_ += step.consumed;
  if (step.refusal) {
    refuse(*step.refusal);
    return true;
  }
  if (step.is_done) {
    dispatch();
    return true;
  }
  if (step.consumed == 0 && end_ - begin_ >= shared_->limits.head_bytes) {
    refuse({400, "a chunk of the request's body has too long a head or trailer"});
    return true;
  }
  return step.consumed > 0;
}

bool ServedConnection::take_discarded() {
  const std::size_t taken = std::min<std::uint64_t>(discard_left_, end_ - begin_);
  begin_ += taken;
  discard_left_ -= taken;
  transferred_ += taken;
  if (discard_left_ > 0) return false;
  waiting_since_ = Clock::now();
  state_ = State::kHead;
  return true;
}

void ServedConnection::dispatch() {
  if (content_encoding(*head_) != Compression::kNone) {
    if (const std::optional<Refusal> refusal = inflate()) {
      ++shared_->refused_requests;
      refuse(refusal_answer(*refusal), false);
      return;
    }
  }
  state_ = State::kAnswering;
  is_request_open_ = true;
  shared_->request_began();
  ReceivedRequest request{std::move(*head_), std::move(body_)};
  head_.reset();
  body_ = RequestBody();
  shared_->on_request(std::move(request),
                      Responder(std::static_pointer_cast<ServedConnection>(shared_from_this())));
}

// ---- a body that is streamed ------------------------------------------------------------------------

std::optional<HttpAnswer> ServedConnection::admit_stream(std::uint64_t length) {
  if (content_encoding(*head_) != Compression::kNone)
    return error_answer(415, "this body must be sent without a content encoding");
  if (length > body_limit_) return error_answer(kTooLarge.status, kTooLarge.reason);
  const std::uint64_t most = head_->is_chunked() ? body_limit_ : length;
  if (!stream_charge_.try_add(std::min(kStreamBytes, most))) return refusal_answer(kBusy);
  return std::nullopt;
}

// Wakes the thread of this connection.
std::function<void()> ServedConnection::waker() {
  return [me = weak_from_this()] {
    if (const auto user = me.lock())
      static_cast<void>(static_cast<ServedConnection&>(*user).transport_->wake(user));
  };
}

void ServedConnection::begin_stream() {
  is_stream_chunked_ = head_->is_chunked();
  stream_left_ = is_stream_chunked_ ? body_limit_ : head_->content_length().value_or(0);
  stream_ = std::make_shared<BodyStream>();
  is_stream_full_ = false;
  stream_->on_change(waker());
  body_ = RequestBody();  // pieces are charged in advance
  state_ = State::kStreaming;
  is_request_open_ = true;
  shared_->request_began();
  ReceivedRequest request{.head = std::move(*head_), .body = {}, .stream = stream_};
  head_.reset();
  shared_->on_request(std::move(request),
                      Responder(std::static_pointer_cast<ServedConnection>(shared_from_this())));
}

// Only this function decides whether the stream is full: the other side may take a piece at any time, and the
// code that follows must not find room where none was made.
bool ServedConnection::take_stream() {
  if (is_receiving_body_) return false;
  is_stream_full_ = stream_->is_full();
  if (is_stream_full_) return false;
  return is_stream_chunked_ ? take_stream_chunks() : take_stream_bytes();
}

bool ServedConnection::take_stream_bytes() {
  if (!body_.reserve(std::min<std::uint64_t>(kBodyPieceBytes, stream_left_))) {
    end_stream({Code::kResourceExhausted, "memory ran out while the body of the request was received"});
    return true;
  }
  if (const std::size_t taken = std::min<std::uint64_t>(body_.room().size(), end_ - begin_); taken > 0) {
    std::memcpy(body_.room().data(), buffer_.get() + begin_, taken);
    body_.added(taken);
    begin_ += taken;
    transferred_ += taken;
  }
  const bool is_last = stream_left() == 0;
  if (!is_last && !body_.room().empty()) return false;
  put_piece(is_last);
  return true;
}

bool ServedConnection::take_stream_chunks() {
  if (begin_ == end_) return false;
  const RequestParser::ChunkStep step = parser_.decode(buffered(), body_, stream_left_);
  begin_ += step.consumed;
  transferred_ += step.consumed;
  if (step.refusal) {
    const Code code = step.refusal->status == 413 ? Code::kOutOfRange : Code::kInvalidArgument;
    end_stream({code, std::string(step.refusal->reason)});
    return true;
  }
  if (step.consumed == 0 && !step.is_done && end_ - begin_ >= shared_->limits.head_bytes) {
    end_stream({Code::kInvalidArgument, "a chunk of the request's body has too long a head or trailer"});
    return true;
  }
  if (step.is_done || body_.size() >= kBodyPieceBytes) put_piece(step.is_done);
  return step.is_done || step.consumed > 0;
}

// REQUIRES: the stream is not full
void ServedConnection::put_piece(bool is_last) {
  stream_left_ -= body_.size();
  RequestBody piece = std::exchange(body_, RequestBody());
  if (piece.size() > 0) static_cast<void>(stream_->put(std::move(piece)));
  if (!is_last) return;
  std::exchange(stream_, nullptr)->end();
  state_ = State::kAnswering;
}

// The body is not complete; the answer that follows says why.
void ServedConnection::end_stream(Error why) {
  std::exchange(stream_, nullptr)->break_off(std::move(why));
  close_after_ = true;
  state_ = State::kAnswering;
}

std::optional<Refusal> ServedConnection::inflate() {
  const std::uint64_t ratio = std::max<std::uint64_t>(1, shared_->limits.inflate_ratio_max);
  const std::uint64_t by_ratio =
      body_.size() > body_limit_ / ratio ? body_limit_ : std::max(kInflateAlways, body_.size() * ratio);
  const std::uint64_t limit = std::min(body_limit_, by_ratio);
  Inflater inflater(*content_encoding(*head_), limit);
  RequestBody inflated(shared_->budget);
  BytesView input = body_.bytes();
  for (bool is_full = true; is_full;) {
    const std::uint64_t wanted = std::max<std::uint64_t>(inflated.size() * 2, kInflateStep);
    // One byte more than allowed, to detect a body that is too large.
    if (inflated.room().empty() && !inflated.reserve(std::min(wanted, limit + 1))) return kBusy;
    const Result<InflateStep> step = inflater.step(input, inflated.room());
    if (!step && step.error().code == Code::kResourceExhausted) return kTooLarge;
    if (!step) return Refusal{400, "the body of the request is not what its Content-Encoding says"};
    input = input.subspan(step->consumed_bytes);
    is_full = step->produced_bytes == inflated.room().size();
    inflated.added(step->produced_bytes);
    if (inflated.size() > limit) return kTooLarge;
  }
  if (!inflater.finish()) return Refusal{400, "the compressed body of the request is cut short"};
  body_ = std::move(inflated);
  return std::nullopt;
}

// ---- answers ----------------------------------------------------------------------------------------

// For errors after which the beginning of the next request is unknown.
void ServedConnection::refuse(const Refusal& refusal) {
  ++shared_->refused_requests;
  refuse(refusal_answer(refusal), true);
}

HttpAnswer ServedConnection::refusal_answer(const Refusal& refusal) const {
  HttpAnswer answer = error_answer(refusal.status, refusal.reason);
  if (refusal.status == 429)
    answer.headers.emplace_back("Retry-After", concat(shared_->limits.retry_after_s));
  return answer;
}

void ServedConnection::refuse(HttpAnswer answer, bool close_after) {
  close_after_ = close_after_ || close_after;
  head_.reset();
  // Memory that data are being received into stays until the connection is closed.
  if (!is_receiving_body_) body_ = RequestBody();
  begin_answer(std::move(answer));
}

void ServedConnection::begin_answer(HttpAnswer answer) {
  if (stream_) end_stream({Code::kCancelled, "the request is answered"});
  close_after_ = close_after_ || shared_->is_draining;
  ConnectionField field = ConnectionField::kNone;
  if (close_after_) field = ConnectionField::kClose;
  if (!close_after_ && is_http_1_0_) field = ConnectionField::kKeepAlive;
  write_answer_head(answer, field, answer_head_);
  answer_body_ = std::move(answer.body);
  answer_stream_ = std::move(answer.stream);
  answer_left_ = answer.stream_bytes;
  if (is_head_request_ || !status_has_body(answer.status)) {
    answer_body_.clear();
    drop_answer_stream();
    answer_left_ = 0;
  }
  answer_charge_.clear();  // gives back what was reserved
  const std::uint64_t streamed = answer_stream_ ? std::min(kStreamBytes, answer_left_) : 0;
  answer_charge_.add(answer_head_.size() + answer_body_.size() + streamed);
  if (answer_stream_) answer_stream_->on_change(waker());
  answer_sent_ = 0;
  state_ = State::kWriting;
  begin_transfer();
  if (!is_sending_) send_more();
}

void ServedConnection::send_more() {
  bool is_first = true;
  while (answer_sent_ < answer_head_.size() + answer_body_.size() || take_answer_piece()) {
    const BytesView head = as_bytes(answer_head_).subspan(std::min(answer_sent_, answer_head_.size()));
    const std::size_t body_sent = answer_sent_ - std::min(answer_sent_, answer_head_.size());
    const BytesView body = as_bytes(answer_body_).subspan(body_sent);
    const std::size_t taken = is_first ? transport_->send_now(head, body) : 0;
    is_first = false;
    answer_sent_ += taken;
    transferred_ += taken;
    if (taken == 0) {
      is_sending_ = true;
      transport_->send(head, body);
      return;
    }
  }
  if (!answer_stream_ && answer_left_ == 0) return end_answer();
  if (!answer_stream_ || answer_stream_->is_over()) close();  // the answer was cut short
}

// Returns false if no piece is there now, or all were taken. A piece that is larger than announced ends the
// stream early.
bool ServedConnection::take_answer_piece() {
  if (!answer_stream_) return false;
  std::optional<std::string> piece;
  if (answer_left_ > 0) piece = answer_stream_->take_now();
  const bool is_sound = piece && piece->size() <= answer_left_;
  if (answer_left_ == 0 || (piece && !is_sound)) drop_answer_stream();
  if (!is_sound) return false;
  answer_left_ -= piece->size();
  answer_head_.clear();
  answer_body_ = *std::move(piece);
  answer_sent_ = 0;
  return true;
}

void ServedConnection::drop_answer_stream() {
  if (answer_stream_) answer_stream_->break_off({Code::kCancelled, "nobody reads the answer any more"});
  answer_stream_ = nullptr;
}

void ServedConnection::send_continue() {
  continue_left_ = kContinue;
  continue_left_.remove_prefix(transport_->send_now(as_bytes(continue_left_), {}));
  if (continue_left_.empty()) return;
  is_sending_ = true;
  transport_->send(as_bytes(continue_left_), {});
}

// Nobody waits for this connection any more. Called in its thread, or on destruction.
void ServedConnection::drop_streams() {
  const Error gone{Code::kCancelled, "the client has gone"};
  if (stream_) std::exchange(stream_, nullptr)->break_off(gone);
  drop_answer_stream();
  drop_incoming_stream();
}

// Called in any thread.
void ServedConnection::drop_incoming_stream() {
  const std::lock_guard lock(mutex_);
  if (incoming_ && incoming_->stream) incoming_->stream->break_off({Code::kCancelled, "the client has gone"});
}

void ServedConnection::drop_answer(HttpAnswer answer) {
  answer_stream_ = std::move(answer.stream);
  drop_answer_stream();
  end_request();
}

void ServedConnection::end_request() {
  answer_charge_.clear();
  stream_charge_.clear();
  if (std::exchange(is_request_open_, false)) shared_->request_ended();
}

void ServedConnection::end_answer() {
  std::string().swap(answer_body_);
  end_request();
  is_head_request_ = false;
  if (close_after_) {
    if (has_peer_ended_) return close();
    transport_->end_sending();
    state_ = State::kLingering;
    begin_transfer();
    return;
  }
  waiting_since_ = Clock::now();
  state_ = discard_left_ > 0 ? State::kDiscarding : State::kHead;
  begin_transfer();
}

// ---- memory -----------------------------------------------------------------------------------------

// Receiving goes on while a request is worked on, to notice that the client has gone.
void ServedConnection::receive_more() {
  if (is_receiving_ || has_peer_ended_ || state_ == State::kOpening) return;
  if (state_ == State::kStreaming && is_stream_full_) return;
  if (state_ == State::kStreaming && !is_stream_chunked_) {
    is_receiving_ = is_receiving_body_ = true;
    transport_->receive(body_.room());
    return;
  }
  if (state_ == State::kBody && !head_->is_chunked()) {
    is_receiving_ = is_receiving_body_ = true;
    const std::size_t left = *head_->content_length() - body_.size();
    transport_->receive(body_.room().first(left));
    return;
  }
  const bool may_grow = state_ == State::kHead || state_ == State::kBody || state_ == State::kStreaming;
  if (!make_room(may_grow)) return;
  is_receiving_ = true;
  transport_->receive({reinterpret_cast<std::byte*>(buffer_.get()) + end_, capacity_ - end_});
}

bool ServedConnection::make_room(bool may_grow) {
  if (begin_ == end_) begin_ = end_ = 0;
  const bool has_chunks = state_ == State::kBody || state_ == State::kStreaming;
  const bool is_small_for_chunks = has_chunks && end_ == 0 && capacity_ < kChunkBufferBytes;
  if (end_ < capacity_ && !is_small_for_chunks) return true;
  if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
    return true;
  }
  const std::size_t largest =
      std::max(is_small_for_chunks ? kChunkBufferBytes : kBufferBytes, shared_->limits.head_bytes);
  if (capacity_ >= largest || (capacity_ > 0 && !may_grow)) return false;
  const std::size_t capacity =
      is_small_for_chunks ? largest : std::clamp(2 * capacity_, kBufferBytes, largest);
  std::unique_ptr<char[]> buffer(new (std::nothrow) char[capacity]);
  if (!buffer) return end_ < capacity_;
  if (end_ > 0) std::memcpy(buffer.get(), buffer_.get(), end_);
  buffer_ = std::move(buffer);
  capacity_ = capacity;
  return true;
}

void ServedConnection::close() {
  if (state_ == State::kClosed) return;
  const bool was_answer_awaited = is_answer_awaited();
  state_ = State::kClosed;
  transport_->close();
  drop_streams();
  stream_charge_.clear();
  answer_charge_.clear();
  if (!was_answer_awaited) end_request();
  shared_->connection_closed();
}

// ---- Responder --------------------------------------------------------------------------------------

void ServedConnection::answer(HttpAnswer answer) {
  if (transport_->is_own_thread()) {
    {
      const std::lock_guard lock(mutex_);
      gone_callback_ = nullptr;
    }
    if (!is_answer_awaited()) return drop_answer(std::move(answer));
    begin_answer(std::move(answer));
    advance();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    incoming_ = std::move(answer);
    gone_callback_ = nullptr;
  }
  // The server has ended. Its thread may still be closing this connection, so the rest is left alone.
  if (!transport_->wake(shared_from_this())) drop_incoming_stream();
}

void ServedConnection::resume(std::function<void()> work) {
  if (transport_->is_own_thread()) return work();
  {
    const std::lock_guard lock(mutex_);
    work_ = std::move(work);
  }
  if (!transport_->wake(shared_from_this())) woken();
}

void ServedConnection::woken() {
  std::optional<HttpAnswer> answer;
  std::function<void()> work;
  {
    const std::lock_guard lock(mutex_);
    answer = std::exchange(incoming_, std::nullopt);
    work = std::exchange(work_, nullptr);
  }
  if (work) work();
  if (!answer && state_ == State::kWriting && !is_sending_) send_more();  // a piece may have come
  if (!answer) return advance();
  if (!is_answer_awaited()) return drop_answer(*std::move(answer));
  begin_answer(std::move(*answer));
  advance();
}

void ServedConnection::on_gone(std::function<void()> callback) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_gone_) {
      gone_callback_ = std::move(callback);
      return;
    }
  }
  callback();
}

void ServedConnection::tell_gone() {
  std::function<void()> callback;
  {
    const std::lock_guard lock(mutex_);
    is_gone_ = true;
    callback = std::exchange(gone_callback_, nullptr);
  }
  if (callback) callback();
}

Responder::~Responder() {
  if (connection_)
    std::exchange(connection_, nullptr)->answer(error_answer(500, "the server gave the request no answer"));
}

void Responder::send(HttpAnswer answer) && { std::exchange(connection_, nullptr)->answer(std::move(answer)); }

Status Responder::reserve_answer(std::uint64_t bytes) const { return connection_->reserve_answer(bytes); }

void Responder::resume(std::function<void()> work) const {
  const std::shared_ptr<ServedConnection> connection = connection_;
  connection->resume(std::move(work));
}

bool Responder::is_gone() const { return connection_->is_gone(); }

void Responder::on_gone(std::function<void()> callback) const { connection_->on_gone(std::move(callback)); }

}  // namespace headrace
