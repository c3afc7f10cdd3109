#include "headrace/net/ignite/connection.h"

#include <limits>

#include "headrace/base/text.h"

namespace headrace::ignite {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kHandshakeLimitBytes = 64 << 10;
// How long to find out what kind of server closed a connection without an answer.
constexpr std::chrono::seconds kInquiryTime{1};
constexpr std::size_t kQueueLimitBytes = std::size_t{64} << 20;
constexpr std::size_t kAbandonedLimit = 1024;
constexpr std::size_t kRequestHeaderBytes = 14;
constexpr std::size_t kPayloadLimitBytes = std::numeric_limits<std::int32_t>::max() - kRequestHeaderBytes;

enum ResponseFlag : std::int16_t { kFailed = 1, kTopologyChanged = 2, kNotification = 4 };

Error stopped() { return {Code::kCancelled, "stopped by the caller"}; }

Code code_of(std::int32_t status) {
  switch (status) {
    case 10:  // the node starts or stops
    case 11:
      return Code::kUnavailable;
    case 2:
    case 100:
      return Code::kUnimplemented;
    case 1000:
    case 1011:
      return Code::kNotFound;
    case 1001:
      return Code::kAlreadyExists;
    case 1010:
      return Code::kResourceExhausted;
    case 1012:
      return Code::kPermissionDenied;
    case 2000:
      return Code::kUnauthenticated;
    default:
      return Code::kUnknown;
  }
}

Error refusal(std::int32_t status, const std::optional<std::string>& text) {
  const std::string words = printable_line(text.value_or("no reason given"), 1000);
  if (words.find("cluster is inactive") != std::string::npos)
    return {
        Code::kFailedPrecondition,
        concat("the Ignite cluster is not active; activate it: control.sh --set-state ACTIVE (", words, ')')};
  return {code_of(status), concat("Ignite refuses: ", words, " (status ", status, ')')};
}

struct Greeting {
  std::unique_ptr<MessageStream> stream{};
  HandshakeReply reply{};
};

Result<PooledBuffer> next_message(MessageStream& stream, Connection::Time until,
                                  const std::stop_token& stop) {
  const std::stop_callback wake_on_stop(stop, [&] { stream.wake(); });
  while (true) {
    HEADRACE_CHECK(stream.try_send());
    HEADRACE_TRY(std::optional<PooledBuffer> message, stream.try_receive());
    if (message) return *std::move(message);
    if (stop.stop_requested()) return stopped();
    if (steady_clock::now() >= until)
      return Error{Code::kDeadlineExceeded,
                   "no answer to the handshake; is this the port of thin clients, usually 10800?"};
    HEADRACE_CHECK(stream.wait(until));
  }
}

// Returns the target with the timeout that remains before `until`.
ConnectTarget before(ConnectTarget target, Connection::Time until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now());
  target.timeout = std::max(left, std::chrono::milliseconds(0));
  return target;
}

// Ignite 3 closes a connection that does not begin with its magic, without an answer. It answers its own
// handshake with that magic, which the stream takes for the length of a message and recognises. Returns an
// empty text if the server is not Ignite 3, or did not answer in time.
std::string recognise_ignite_3(Connector& connector, const ConnectTarget& target,
                               const std::shared_ptr<BufferPool>& pool, Connection::Time until,
                               const std::stop_token& stop) {
  until = std::min<Connection::Time>(until, steady_clock::now() + kInquiryTime);
  Result<std::unique_ptr<ByteStream>> bytes = connector.connect(before(target, until), stop);
  if (!bytes) return {};
  auto stream = MessageStream::create(*std::move(bytes), pool, kHandshakeLimitBytes);
  if (!stream) return {};
  (*stream)->start(encode_ignite_3_handshake());
  const Result<PooledBuffer> reply = next_message(**stream, until, stop);
  const bool is_named = !reply && reply.error().message == kIgnite3Answers;
  return is_named ? reply.error().message : std::string();
}

Result<Greeting> greet(Connector& connector, const ConnectTarget& target, const ConnectionOptions& options,
                       const ProtocolVersion& version, const std::shared_ptr<BufferPool>& pool,
                       Connection::Time until, const std::stop_token& stop) {
  Greeting greeting;
  HEADRACE_TRY(std::unique_ptr<ByteStream> bytes, connector.connect(before(target, until), stop));
  HEADRACE_TRY(greeting.stream, MessageStream::create(std::move(bytes), pool, kHandshakeLimitBytes));
  greeting.stream->start(encode_handshake(version, options.credentials));
  Result<PooledBuffer> reply = next_message(*greeting.stream, until, stop);
  if (!reply && reply.error().code == Code::kUnavailable && greeting.stream->received_bytes() == 0) {
    const std::string other = recognise_ignite_3(connector, target, pool, until, stop);
    if (!other.empty()) return Error{Code::kUnimplemented, other};
    return std::move(reply).error().in(
        "the handshake failed; does this port use TLS or another protocol? The port of thin clients is "
        "usually 10800");
  }
  if (!reply) return std::move(reply).error();
  HEADRACE_TRY(greeting.reply, parse_handshake_reply(reply->view(), version));
  greeting.stream->set_limit(options.message_limit_bytes);
  return greeting;
}

}  // namespace

Connection::Connection(Address address, Agreement agreement, std::unique_ptr<MessageStream> stream)
    : address_(std::move(address)), agreement_(std::move(agreement)), stream_(std::move(stream)) {}

Result<std::shared_ptr<Connection>> Connection::open(Connector& connector, const Address& address,
                                                     const ConnectionOptions& options,
                                                     std::shared_ptr<BufferPool> pool,
                                                     const std::stop_token& stop) {
  ConnectTarget target{.host = address.host, .port = address.port};
  if (options.tls) target.tls_name = options.tls_name.empty() ? address.host : options.tls_name;
  const Time until = steady_clock::now() + options.connect_timeout;
  ProtocolVersion version = options.version;
  // A node that wants another version names that version, and the second attempt proposes it.
  for (int attempt = 0; attempt < 2; ++attempt) {
    Result<Greeting> greeting = greet(connector, target, options, version, pool, until, stop);
    if (!greeting) return std::move(greeting).error().in(concat("Ignite node ", address.text()));
    if (greeting->reply.agreement)
      return std::shared_ptr<Connection>(
          new Connection(address, *std::move(greeting->reply.agreement), std::move(greeting->stream)));
    version = greeting->reply.proposed;
  }
  return Error{Code::kUnimplemented, concat("Ignite node ", address.text(), " refuses version ",
                                            version.text(), " of the thin protocol, which it proposed")};
}

TopologyVersion Connection::topology() const {
  const std::scoped_lock lock(mutex_);
  return topology_;
}

bool Connection::is_lost() const {
  const std::scoped_lock lock(mutex_);
  return lost_.has_value();
}

Connection::Time Connection::last_received() const {
  const std::scoped_lock lock(mutex_);
  return last_received_;
}

void Connection::wake_all() {
  const std::scoped_lock lock(mutex_);
  stream_->wake();
  changed_.notify_all();
}

void Connection::lose(std::string_view why) {
  const std::scoped_lock lock(mutex_);
  lose_locked(why);
  stream_->wake();
}

void Connection::lose_locked(std::string_view why) {
  if (!lost_) lost_ = Error{Code::kUnavailable, concat("Ignite node ", address_.text(), ": ", why)};
  changed_.notify_all();
}

template <typename IsDone>
Status Connection::wait(std::unique_lock<std::mutex>& lock, const IsDone& is_done, Time until,
                        const std::stop_token& stop) {
  while (!is_done()) {
    if (lost_) return *lost_;
    if (stop.stop_requested()) return stopped();
    if (steady_clock::now() >= until)
      return Error{Code::kDeadlineExceeded, concat("no answer in time from Ignite node ", address_.text())};
    if (is_driven_) {
      changed_.wait_until(lock, until);
      continue;
    }
    is_driven_ = true;
    lock.unlock();
    const Status advanced = advance(until);
    lock.lock();
    is_driven_ = false;
    if (!advanced) lose_locked(advanced.error().message);
    changed_.notify_all();
  }
  return {};
}

Result<std::int64_t> Connection::send(Operation operation, BytesView payload, Time until,
                                      const std::stop_token& stop) {
  if (payload.size() > kPayloadLimitBytes)
    return Error{Code::kInvalidArgument,
                 concat("a request has ", payload.size(), " bytes; Ignite's limit is ", kPayloadLimitBytes)};
  Bytes message;
  message.reserve(kRequestHeaderBytes + payload.size());
  append_little_endian(message, static_cast<std::int32_t>(kRequestHeaderBytes - 4 + payload.size()));
  append_little_endian(message, operation);
  append_little_endian(message, std::int64_t{0});
  append(message, payload);
  const std::stop_callback wake_on_stop(stop, [this] { wake_all(); });
  std::unique_lock lock(mutex_);
  HEADRACE_CHECK(wait(
      lock, [&] { return !lost_ && queued_bytes_ <= kQueueLimitBytes; }, until, stop));
  // A connection that the node closed while it was idle still accepts bytes; only a read shows the end. If
  // the end is noticed before a request is queued, the request was certainly not carried out.
  receive_one(lock);
  if (lost_) return *lost_;
  const std::int64_t request = next_request_++;
  store_little_endian(message.data() + 6, request);
  slots_.try_emplace(request);
  queued_bytes_ += message.size();
  queue_.push_back(std::move(message));
  if (is_driven_) {
    stream_->wake();
    return request;
  }
  is_driven_ = true;
  lock.unlock();
  const Status flushed = flush();
  lock.lock();
  is_driven_ = false;
  if (!flushed) lose_locked(flushed.error().message);
  changed_.notify_all();
  return request;
}

// Takes a received message, without waiting. Returns false if there is none, or if another thread drives the
// connection and will take it.
bool Connection::receive_one(std::unique_lock<std::mutex>& lock) {
  if (is_driven_ || lost_) return false;
  is_driven_ = true;
  lock.unlock();
  Result<std::optional<PooledBuffer>> message = try_receive();
  const bool has_come = message && *message;
  Status taken;
  if (!message) {
    taken = std::move(message).error();
  } else if (has_come) {
    taken = dispatch(**std::move(message));
  }
  lock.lock();
  is_driven_ = false;
  if (!taken) lose_locked(taken.error().message);
  changed_.notify_all();
  return has_come;
}

Status Connection::await(std::int64_t request, Time until, const std::stop_token& stop) {
  const std::stop_callback wake_on_stop(stop, [this] { wake_all(); });
  std::unique_lock lock(mutex_);
  const auto slot = slots_.find(request);
  if (slot == slots_.end()) return Error{Code::kInternal, "a request that was not sent"};
  return wait(
      lock, [&] { return slot->second.outcome.has_value(); }, until, stop);
}

Result<std::int64_t> Connection::await_any(const std::vector<std::int64_t>& requests, Time until,
                                           const std::stop_token& stop) {
  const std::stop_callback wake_on_stop(stop, [this] { wake_all(); });
  std::unique_lock lock(mutex_);
  const auto find = [&]() -> std::optional<std::int64_t> {
    for (const std::int64_t request : requests)
      if (const auto slot = slots_.find(request); slot != slots_.end() && slot->second.outcome)
        return request;
    return std::nullopt;
  };
  while (!find() && receive_one(lock)) {
  }
  Status awaited = wait(
      lock, [&] { return find().has_value(); }, until, stop);
  if (const std::optional<std::int64_t> ready = find()) return *ready;
  return std::move(awaited).error();
}

Status Connection::await_or_lose(std::int64_t request, Time until, std::chrono::milliseconds silence,
                                 const std::stop_token& stop) {
  while (true) {
    const Time asked = steady_clock::now();
    Status awaited = await(request, std::min(until, asked + silence), stop);
    if (awaited || awaited.error().code != Code::kDeadlineExceeded) return awaited;
    if (steady_clock::now() >= until) return awaited;
    if (last_received() < asked) lose("it has stopped sending");
  }
}

Result<Response> Connection::receive(std::int64_t request, Time until, const std::stop_token& stop) {
  const Status awaited = await(request, until, stop);
  const std::scoped_lock lock(mutex_);
  const auto slot = slots_.find(request);
  if (!awaited && (slot == slots_.end() || !slot->second.outcome)) {
    abandon_locked(request);
    return awaited.error();
  }
  Result<Response> outcome = *std::move(slot->second.outcome);
  slots_.erase(slot);
  return outcome;
}

void Connection::abandon(std::int64_t request) {
  const std::scoped_lock lock(mutex_);
  abandon_locked(request);
}

void Connection::abandon_locked(std::int64_t request) {
  const auto slot = slots_.find(request);
  if (slot == slots_.end()) return;
  if (lost_ || slot->second.outcome) {
    slots_.erase(slot);
    return;
  }
  slot->second.is_abandoned = true;
  if (++abandoned_ > kAbandonedLimit) lose_locked("too many requests without an answer");
}

// Only the thread that drives the connection calls these four functions.
Result<std::optional<PooledBuffer>> Connection::try_receive() {
  const std::uint64_t before = stream_->received_bytes();
  Result<std::optional<PooledBuffer>> message = stream_->try_receive();
  if (stream_->received_bytes() > before) {
    const std::scoped_lock lock(mutex_);
    last_received_ = steady_clock::now();
  }
  return message;
}

Status Connection::flush() {
  while (true) {
    if (!stream_->is_sending()) {
      const std::scoped_lock lock(mutex_);
      if (queue_.empty()) return {};
      queued_bytes_ -= queue_.front().size();
      stream_->start(std::move(queue_.front()));
      queue_.pop_front();
    }
    HEADRACE_CHECK(stream_->try_send());
    if (stream_->is_sending()) return {};
  }
}

Status Connection::advance(Time until) {
  HEADRACE_CHECK(flush());
  HEADRACE_TRY(std::optional<PooledBuffer> message, try_receive());
  if (message) return dispatch(*std::move(message));
  return stream_->wait(until);
}

Status Connection::dispatch(PooledBuffer message) {
  if (message.size() < sizeof(std::int64_t)) return malformed("a response without a number");
  const auto request = load_little_endian<std::int64_t>(message.data());
  TopologyVersion changed;
  Result<Response> response = parse(std::move(message), changed);
  if (!response && response.error().code == Code::kDataLoss) return std::move(response).error();
  const std::scoped_lock lock(mutex_);
  topology_ = std::max(topology_, changed);
  const auto slot = slots_.find(request);
  if (slot == slots_.end() || slot->second.outcome) return malformed("a response that answers no request");
  if (slot->second.is_abandoned) {
    --abandoned_;
    slots_.erase(slot);
  } else {
    slot->second.outcome.emplace(std::move(response));
  }
  return {};
}

Result<Response> Connection::parse(PooledBuffer message, TopologyVersion& changed) const {
  ObjectCursor cursor(message.view(), sizeof(std::int64_t));
  bool has_status = true;
  if (agreement_.version >= kFlagsVersion) {
    std::int16_t flags = 0;
    if (!cursor.read(flags) || (flags & kNotification) != 0) return malformed("a response's flags");
    if ((flags & kTopologyChanged) != 0 && !(cursor.read(changed.major) && cursor.read(changed.minor)))
      return malformed("a response's version of the topology");
    has_status = (flags & kFailed) != 0;
  }
  std::int32_t status = 0;
  if (has_status && !cursor.read(status)) return malformed("a response's status");
  if (status != 0) {
    std::optional<std::string> text;
    if (!read_text(cursor, text)) return malformed("a response's error");
    return refusal(status, text);
  }
  const std::size_t offset = cursor.position();
  return Response{std::move(message), offset};
}

}  // namespace headrace::ignite
