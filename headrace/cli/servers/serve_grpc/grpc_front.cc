#include "headrace/cli/servers/serve/grpc_front.h"

#include <grpc/grpc.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/cli/servers/serve_grpc/graceful_close.h"
#include "headrace/cli/servers/serve_grpc/served_call.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPostedCalls = 32;  // of each queue, that wait for a client
constexpr std::chrono::seconds kSweepEach{1};
constexpr std::chrono::milliseconds kLookAtAnswersEach{5};
constexpr std::chrono::milliseconds kQuiet{1'000};
constexpr unsigned kLookAtFilesEachSeconds = 5;
constexpr int kKeepaliveMs = 60'000;
constexpr int kKeepaliveTimeoutMs = 20'000;
constexpr int kHandshakeTimeoutMs = 10'000;

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
  AsyncFront(const GrpcFrontOptions& options, OnGrpcCall on_call)
      : shared_(std::make_shared<CallsShared>(options, std::move(on_call))) {}
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
    // Clients that have gone may still have calls that the models work on.
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
  // Until all connections have ended, or nobody has called for a while.
  void let_clients_leave(Clock::time_point deadline) {
    auto last_call = Clock::now();
    while (Clock::now() < deadline && Clock::now() - last_call < kQuiet) {
      stop_listening_and_tell_clients(*server_);
      if (!has_connections(*server_)) return;
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

Result<std::unique_ptr<GrpcFront>> start_grpc_front(const GrpcFrontOptions& options, OnGrpcCall on_call) {
  // Never undone: calls may outlive the server.
  grpc_init();
  auto front = std::make_unique<AsyncFront>(options, std::move(on_call));
  HEADRACE_CHECK(front->start());
  return std::unique_ptr<GrpcFront>(std::move(front));
}

}  // namespace headrace
