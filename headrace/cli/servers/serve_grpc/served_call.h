#pragma once

/// \file One call of the gRPC server, from when it is posted until its answer is written.

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>

#include "headrace/cli/servers/serve/byte_budget.h"
#include "headrace/cli/servers/serve/grpc_front.h"

namespace headrace {

class ServedCall;

/// What all calls share; outlives the server while a call is unanswered.
struct CallsShared {
  CallsShared(const GrpcFrontOptions& its_options, OnGrpcCall its_on_call)
      : options(its_options),
        on_call(std::move(its_on_call)),
        budget(std::make_shared<ByteBudget>(its_options.bytes_in_flight)) {}

  const GrpcFrontOptions options;
  const OnGrpcCall on_call;
  const std::shared_ptr<ByteBudget> budget;
  std::atomic<std::uint64_t> calls = 0;       // that have come, and are not yet answered
  std::atomic<std::uint64_t> unanswered = 0;  // those of them that on_call got
  grpc::AsyncGenericService service{};

  /// Held shared while a call begins an operation. Operations may not begin once it is closed.
  std::shared_mutex gate{};
  bool is_closed = false;
};

/// A completion queue and its calls. Everything but ServedCall::answer runs in the thread of the queue.
struct CallQueue {
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  /// Whose messages are on their way, the oldest first.
  std::list<ServedCall*> receiving{};
};

class ServedCall final : public std::enable_shared_from_this<ServedCall> {
 public:
  /// Waits for a call that a client begins; then posts another.
  static void post(const std::shared_ptr<CallsShared>& shared, CallQueue& queue);

  ServedCall(std::shared_ptr<CallsShared> shared, CallQueue& queue);
  ServedCall(const ServedCall&) = delete;
  ServedCall& operator=(const ServedCall&) = delete;
  ~ServedCall();

  /// The operation that was begun last has ended.
  void proceed(bool is_done);
  /// Ends the call if its message takes too long. False: it has more time.
  bool expire(std::chrono::steady_clock::time_point now);
  /// Any thread, once.
  void answer(Result<Bytes> answer, std::chrono::nanoseconds retry_after);

  std::string_view method() const { return method_; }
  BytesView message() const { return {reinterpret_cast<const std::byte*>(slice_.begin()), slice_.size()}; }
  std::chrono::steady_clock::time_point received() const { return received_; }
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
  std::shared_ptr<ServedCall> keep_;  // while an operation goes on
  std::list<ServedCall*>::iterator place_{};
  bool is_counted_ = false;
  std::string method_;
  std::chrono::steady_clock::time_point received_{};
  grpc::ByteBuffer buffer_;
  grpc::Slice slice_;
  ByteCharge charge_;
};

}  // namespace headrace
