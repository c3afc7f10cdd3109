// Calls of gRPC without generated services: each call is bytes, and has a state of its own. Source for the
// order of operations: grpc.io/docs/languages/cpp/async.

#include "headrace/cli/servers/serve/grpc_front.h"

#include <grpc/grpc.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <list>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>
#include <utility>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/cli/servers/serve/byte_budget.h"
#include "headrace/cli/servers/serve_grpc/graceful_close.h"
#include "headrace/serve/protocol/grpc_service.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPostedCalls = 32;  // calls of each queue that wait for a client
constexpr std::chrono::seconds kSweepEach{1};
constexpr std::chrono::milliseconds kLookAtAnswersEach{5};
constexpr std::chrono::milliseconds kQuiet{1'000};
constexpr unsigned kLookAtFilesEachSeconds = 5;
constexpr int kKeepaliveMs = 60'000;
constexpr int kKeepaliveTimeoutMs = 20'000;
constexpr int kHandshakeTimeoutMs = 10'000;

// gRPC's header for it, in milliseconds: https://github.com/grpc/proposal/blob/master/A6-client-retries.md
constexpr const char* kRetryHeader = "grpc-retry-pushback-ms";

grpc::Status to_grpc_status(const Error& error) {
  return {static_cast<grpc::StatusCode>(error.code), grpc_message(error)};
}

// The slice takes over the bytes; nothing is copied.
grpc::ByteBuffer to_buffer(Bytes bytes) {
  auto owner = std::make_unique<Bytes>(std::move(bytes));
  const auto free = [](void* memory) { delete static_cast<Bytes*>(memory); };
  std::byte* const data = owner->data();
  const std::size_t size = owner->size();
  const grpc::Slice slice(data, size, free, owner.release());
  return {&slice, 1};
}

class ServedCall;

// Shared by all calls; outlives the server while a call is unanswered.
struct CallsShared {
  CallsShared(const GrpcFrontOptions& its_options, GrpcHandlers its_handlers)
      : options(its_options),
        handlers(std::move(its_handlers)),
        budget(std::make_shared<ByteBudget>(its_options.bytes_in_flight)) {}

  const GrpcFrontOptions options;
  const GrpcHandlers handlers;
  const std::shared_ptr<ByteBudget> budget;
  std::atomic<std::uint64_t> calls = 0;       // received, and not yet answered
  std::atomic<std::uint64_t> unanswered = 0;  // of these, the calls that the handler has got
  grpc::AsyncGenericService service{};

  // Held shared while a call begins an operation. Once it is closed, no operation may begin.
  std::shared_mutex gate{};
  bool is_closed = false;
};

// A completion queue and its calls. Everything but ServedCall::answer runs in the thread of the queue.
struct CallQueue {
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  // Calls whose messages are on their way, the oldest first.
  std::list<ServedCall*> receiving{};
};

// One call, from when it is posted until its answer is written.
class ServedCall final : public std::enable_shared_from_this<ServedCall> {
 public:
  // Waits for a call from a client, then posts another.
  static void post(const std::shared_ptr<CallsShared>& shared, CallQueue& queue);

  ServedCall(std::shared_ptr<CallsShared> shared, CallQueue& queue);
  ServedCall(const ServedCall&) = delete;
  ServedCall& operator=(const ServedCall&) = delete;
  ~ServedCall();

  // Called when the operation that was begun last has ended.
  void proceed(bool is_done);
  // Ends the call if its message takes too long. Returns false if it has more time.
  bool expire(std::chrono::steady_clock::time_point now);
  // Called by one thread at a time, before the answer.
  Status reserve_answer(std::uint64_t bytes) {
    HEADRACE_CHECK(charge_.reserve_answer(bytes));
    reserved_bytes_ += bytes;
    return {};
  }
  // Called once, by any thread.
  void answer(Result<Bytes> answer, std::chrono::nanoseconds retry_after);

  std::string_view method() const { return method_; }
  BytesView message() const { return {reinterpret_cast<const std::byte*>(slice_.begin()), slice_.size()}; }
  std::chrono::steady_clock::time_point received() const { return received_; }
  std::optional<std::string_view> metadata(std::string_view name) const;
  std::chrono::steady_clock::time_point deadline() const;

 private:
  enum class Step { kPosted, kReceiving, kAnswering };
  void begin();
  void receive();

  const std::shared_ptr<CallsShared> shared_;
  CallQueue& queue_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_{&context_};
  Step step_ = Step::kPosted;
  std::shared_ptr<ServedCall> keep_;  // set while an operation goes on
  std::list<ServedCall*>::iterator place_{};
  bool is_counted_ = false;
  std::string method_;
  std::chrono::steady_clock::time_point received_{};
  grpc::ByteBuffer buffer_;
  grpc::Slice slice_;
  ByteCharge charge_;
  std::uint64_t reserved_bytes_ = 0;  // the part of charge_ for the answer
};

// A call, as its handler sees it.
class CallHandle final : public GrpcCall {
 public:
  CallHandle(std::shared_ptr<ServedCall> call, std::shared_ptr<CallsShared> shared)
      : call_(std::move(call)), shared_(std::move(shared)) {
    ++shared_->unanswered;
  }
  ~CallHandle() override { send(Error{Code::kInternal, "the server has lost the request"}, {}); }
  std::string_view method() const override { return call_->method(); }
  BytesView message() const override { return call_->message(); }
  std::optional<std::string_view> metadata(std::string_view name) const override {
    return call_->metadata(name);
  }
  Clock::time_point received() const override { return call_->received(); }
  Clock::time_point deadline() const override { return call_->deadline(); }
  Status reserve_answer(std::uint64_t bytes) override { return call_->reserve_answer(bytes); }
  void send(Result<Bytes> answer, std::chrono::nanoseconds retry_after) override {
    if (std::exchange(is_answered_, true)) return;
    call_->answer(std::move(answer), retry_after);
    --shared_->unanswered;
  }

 private:
  const std::shared_ptr<ServedCall> call_;
  const std::shared_ptr<CallsShared> shared_;
  bool is_answered_ = false;
};

ServedCall::ServedCall(std::shared_ptr<CallsShared> shared, CallQueue& queue)
    : shared_(std::move(shared)), queue_(queue), charge_(shared_->budget) {}

ServedCall::~ServedCall() {
  if (is_counted_) --shared_->calls;
}

void ServedCall::post(const std::shared_ptr<CallsShared>& shared, CallQueue& queue) {
  const std::shared_lock open(shared->gate);
  if (shared->is_closed) return;
  const auto call = std::make_shared<ServedCall>(shared, queue);
  call->keep_ = call;
  shared->service.RequestCall(&call->context_, &call->stream_, queue.queue.get(), queue.queue.get(),
                              call.get());
}

void ServedCall::proceed(bool is_done) {
  const auto self = std::exchange(keep_, nullptr);
  switch (step_) {
    case Step::kPosted:
      if (is_done) begin();
      return;
    case Step::kReceiving:
      queue_.receiving.erase(place_);
      if (is_done) return receive();
      // The client has gone, sent nothing, or sent too much: gRPC itself has reported that.
      return answer(Error{Code::kInvalidArgument, "the call has no message"}, {});
    case Step::kAnswering:
      return;
  }
}

void ServedCall::begin() {
  post(shared_, queue_);
  received_ = Clock::now();
  method_ = context_.method();
  is_counted_ = true;
  if (++shared_->calls > shared_->options.calls || shared_->budget->is_exhausted())
    return answer(Error{Code::kResourceExhausted, "the server has too many calls at once: try again later"},
                  std::chrono::seconds(1));
  const auto& judge = shared_->handlers.judge;
  if (const Status allowed = judge ? judge(method_, metadata("authorization")) : Status(); !allowed)
    return answer(allowed.error(), {});
  step_ = Step::kReceiving;
  const std::shared_lock open(shared_->gate);
  if (shared_->is_closed) return;
  place_ = queue_.receiving.insert(queue_.receiving.end(), this);
  keep_ = shared_from_this();
  stream_.Read(&buffer_, this);
}

void ServedCall::receive() {
  const std::uint64_t size = buffer_.Length();
  if (!charge_.try_add(size))
    return answer(
        Error{Code::kResourceExhausted, "the server has too many bytes of calls in memory: try again later"},
        std::chrono::seconds(1));
  if (!buffer_.TrySingleSlice(&slice_).ok() && !buffer_.DumpToSingleSlice(&slice_).ok())
    return answer(Error{Code::kInternal, "the message cannot be read"}, {});
  buffer_.Clear();
  shared_->handlers.on_call(std::make_unique<CallHandle>(shared_from_this(), shared_));
}

bool ServedCall::expire(Clock::time_point now) {
  if (now - received_ < shared_->options.receive_timeout) return false;
  context_.TryCancel();
  return true;
}

void ServedCall::answer(Result<Bytes> answer, std::chrono::nanoseconds retry_after) {
  const std::shared_lock open(shared_->gate);
  if (shared_->is_closed) return;
  step_ = Step::kAnswering;
  keep_ = shared_from_this();
  if (answer) {
    charge_.give_back(std::exchange(reserved_bytes_, 0));
    charge_.add(answer->size());
    stream_.WriteAndFinish(to_buffer(*std::move(answer)), grpc::WriteOptions(), grpc::Status::OK, this);
    return;
  }
  if (retry_after.count() > 0) {
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(retry_after).count();
    context_.AddTrailingMetadata(kRetryHeader, concat(wait));
  }
  stream_.Finish(to_grpc_status(answer.error()), this);
}

std::optional<std::string_view> ServedCall::metadata(std::string_view name) const {
  const auto& metadata = context_.client_metadata();
  const std::string lower = to_lower(name);
  const auto found = metadata.find(lower);
  if (found == metadata.end()) return std::nullopt;
  return std::string_view(found->second.data(), found->second.size());
}

Clock::time_point ServedCall::deadline() const {
  const auto given = context_.deadline();
  if (given == std::chrono::system_clock::time_point::max()) return Clock::time_point::max();
  const auto left = given - std::chrono::system_clock::now();
  constexpr std::chrono::hours kLongest{24 * 365};
  return left > kLongest ? Clock::time_point::max()
                         : Clock::now() + std::chrono::duration_cast<Clock::duration>(left);
}

std::chrono::system_clock::time_point on_system_clock(Clock::time_point time) {
  const auto left = std::max(time - Clock::now(), Clock::duration());
  return std::chrono::system_clock::now() + std::chrono::ceil<std::chrono::milliseconds>(left);
}

std::shared_ptr<grpc::ServerCredentials> credentials_of(const GrpcFrontOptions& options) {
  if (options.certificate_file.empty()) return grpc::InsecureServerCredentials();
  namespace tls = grpc::experimental;
  const auto files = std::make_shared<tls::FileWatcherCertificateProvider>(
      options.key_file, options.certificate_file, options.client_ca_file, kLookAtFilesEachSeconds);
  tls::TlsServerCredentialsOptions credentials(files);
  credentials.watch_identity_key_cert_pairs();
  if (!options.client_ca_file.empty()) {
    credentials.watch_root_certs();
    credentials.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return tls::TlsServerCredentials(credentials);
}

void set_limits(const GrpcFrontOptions& options, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(
      static_cast<int>(std::min<std::uint64_t>(options.body_bytes, std::numeric_limits<int>::max())));
  // gRPC's own bound for messages on their way: it ends the connections that hold most. Messages that have
  // arrived are refused at half of that, with an error message.
  builder.SetResourceQuota(grpc::ResourceQuota("headrace").Resize(2 * options.bytes_in_flight));
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  // A second server on the port of the first would take every other call.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.streams);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeTimeoutMs);
}

class AsyncFront final : public GrpcFront {
 public:
  AsyncFront(const GrpcFrontOptions& options, GrpcHandlers handlers)
      : shared_(std::make_shared<CallsShared>(options, std::move(handlers))) {}
  ~AsyncFront() override { static_cast<void>(stop(Clock::now())); }

  Status start() {
    const GrpcFrontOptions& options = shared_->options;
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(options.listen, credentials_of(options), &port);
    set_limits(options, builder);
    builder.RegisterAsyncGenericService(&shared_->service);
    for (int i = 0; i < options.threads; ++i) queues_.push_back({builder.AddCompletionQueue()});
    server_ = builder.BuildAndStart();
    if (!server_ || port == 0) {
      return Error{Code::kFailedPrecondition,
                   concat("cannot listen for gRPC on ", options.listen,
                          ": the port is taken or not allowed (--grpc-port 0 takes any that is free), or "
                          "TLS's files are not readable")};
    }
    port_ = static_cast<std::uint16_t>(port);
    for (CallQueue& queue : queues_) {
      for (int i = 0; i < kPostedCalls; ++i) ServedCall::post(shared_, queue);
      threads_.emplace_back([this, &queue] { run(queue); });
    }
    return {};
  }

  std::uint16_t port() const override { return port_; }

  bool stop(Clock::time_point deadline) override {
    const std::scoped_lock lock(mutex_);
    if (is_stopped_) return true;
    is_stopped_ = true;
    if (server_) {
      let_clients_leave(deadline);
      server_->Shutdown(on_system_clock(deadline));
    }
    // Clients that have gone may still have calls that the models are working on.
    while (shared_->unanswered != 0 && Clock::now() < deadline)
      std::this_thread::sleep_for(kLookAtAnswersEach);
    const bool are_all_answered = shared_->unanswered == 0;
    {
      const std::unique_lock closing(shared_->gate);
      shared_->is_closed = true;
    }
    for (CallQueue& queue : queues_) queue.queue->Shutdown();
    if (threads_.empty()) {
      for (CallQueue& queue : queues_) drain(queue);
    }
    threads_.clear();
    server_.reset();
    return are_all_answered;
  }

 private:
  // Waits until all connections have ended, or nobody has called for a while.
  void let_clients_leave(Clock::time_point deadline) {
    auto last_call = Clock::now();
    while (Clock::now() < deadline && Clock::now() - last_call < kQuiet) {
      stop_listening_and_tell_clients(*server_->c_server());
      if (!has_connections(*server_->c_server())) return;
      if (shared_->calls != 0) last_call = Clock::now();
      std::this_thread::sleep_for(kLookAtAnswersEach);
    }
  }

  static void drain(CallQueue& queue) {
    void* tag = nullptr;
    bool is_done = false;
    while (queue.queue->Next(&tag, &is_done)) static_cast<ServedCall*>(tag)->proceed(is_done);
  }

  static void run(CallQueue& queue) {
    auto swept = Clock::now();
    for (;;) {
      void* tag = nullptr;
      bool is_done = false;
      const auto next = queue.queue->AsyncNext(&tag, &is_done, std::chrono::system_clock::now() + kSweepEach);
      if (next == grpc::CompletionQueue::SHUTDOWN) return;
      if (next == grpc::CompletionQueue::GOT_EVENT) static_cast<ServedCall*>(tag)->proceed(is_done);
      if (const auto now = Clock::now(); now - swept >= kSweepEach) {
        swept = now;
        for (ServedCall* const call : queue.receiving) {
          if (!call->expire(now)) break;
        }
      }
    }
  }

  const std::shared_ptr<CallsShared> shared_;
  std::uint16_t port_ = 0;
  std::vector<CallQueue> queues_;
  std::unique_ptr<grpc::Server> server_;
  std::mutex mutex_;
  bool is_stopped_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace

Result<std::unique_ptr<GrpcFront>> start_grpc_front(const GrpcFrontOptions& options, GrpcHandlers handlers) {
  // Never undone: calls may outlive the server.
  grpc_init();
  auto front = std::make_unique<AsyncFront>(options, std::move(handlers));
  HEADRACE_CHECK(front->start());
  return std::unique_ptr<GrpcFront>(std::move(front));
}

}  // namespace headrace
