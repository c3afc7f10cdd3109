#include "headrace/cli/servers/serve_grpc/served_call.h"

#include <utility>

#include "headrace/base/text.h"
#include "headrace/serve/protocol/grpc_service.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

// gRPC's header for it, in milliseconds: https://github.com/grpc/proposal/blob/master/A6-client-retries.md
constexpr const char* kRetryHeader = "grpc-retry-pushback-ms";

grpc::Status to_grpc_status(const Error& error) {
  return {static_cast<grpc::StatusCode>(error.code), grpc_message(error)};
}

// The bytes become the slice's; nothing is copied.
grpc::ByteBuffer to_buffer(Bytes bytes) {
  auto owner = std::make_unique<Bytes>(std::move(bytes));
  const auto free = [](void* memory) { delete static_cast<Bytes*>(memory); };
  std::byte* const data = owner->data();
  const std::size_t size = owner->size();
  const grpc::Slice slice(data, size, free, owner.release());
  return {&slice, 1};
}

// A call as its handler has it.
class CallHandle final : public GrpcCall {
 public:
  CallHandle(std::shared_ptr<ServedCall> call, std::shared_ptr<CallsShared> shared)
      : call_(std::move(call)), shared_(std::move(shared)) {
    ++shared_->unanswered;
  }
  ~CallHandle() override { send(Error{Code::kInternal, "the server has lost the request"}, {}); }
  std::string_view method() const override { return call_->method(); }
  BytesView message() const override { return call_->message(); }
  Clock::time_point received() const override { return call_->received(); }
  Clock::time_point deadline() const override { return call_->deadline(); }
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

}  // namespace

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
      // The client has gone, sent nothing, or sent too much: gRPC itself has told that.
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
    return answer(Error{Code::kResourceExhausted, "the server has too many calls at once: come again"},
                  std::chrono::seconds(1));
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
        Error{Code::kResourceExhausted, "the server has too many bytes of calls in memory: come again"},
        std::chrono::seconds(1));
  if (!buffer_.TrySingleSlice(&slice_).ok() && !buffer_.DumpToSingleSlice(&slice_).ok())
    return answer(Error{Code::kInternal, "the message cannot be read"}, {});
  buffer_.Clear();
  shared_->on_call(std::make_unique<CallHandle>(shared_from_this(), shared_));
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

Clock::time_point ServedCall::deadline() const {
  const auto given = context_.deadline();
  if (given == std::chrono::system_clock::time_point::max()) return Clock::time_point::max();
  const auto left = given - std::chrono::system_clock::now();
  constexpr std::chrono::hours kLongest{24 * 365};
  return left > kLongest ? Clock::time_point::max()
                         : Clock::now() + std::chrono::duration_cast<Clock::duration>(left);
}

}  // namespace headrace
