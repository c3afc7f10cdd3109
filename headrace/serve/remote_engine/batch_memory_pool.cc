#include "headrace/serve/remote_engine/batch_memory_pool.h"

#include <algorithm>
#include <bit>

#include "headrace/base/text.h"

namespace headrace {
namespace {

// Sizes are powers of two, so that a piece also fits other batches. Untouched pages take no memory.
constexpr std::uint64_t kSmallestPieceBytes = 64 << 10;

}  // namespace

class BatchMemoryPool::State : public std::enable_shared_from_this<State> {
 public:
  State(BatchMemoryLimits limits, std::function<Status(const NumberedMemory&)> on_made,
        std::function<void(std::uint32_t)> on_ended)
      : limits_(limits), on_made_(std::move(on_made)), on_ended_(std::move(on_ended)) {}

  Result<std::shared_ptr<NumberedMemory>> take(std::uint64_t size_bytes) {
    const std::uint64_t size = std::bit_ceil(std::max(size_bytes, kSmallestPieceBytes));
    const std::scoped_lock lock(mutex_);
    const auto found = std::find_if(idle_.rbegin(), idle_.rend(),
                                    [&](const auto& piece) { return piece->bytes().size() == size; });
    if (found != idle_.rend()) {
      std::unique_ptr<NumberedMemory> piece = std::move(*found);
      idle_.erase(std::next(found).base());
      idle_bytes_ -= size;
      return shared(std::move(piece));
    }
    while (bytes_ + size > limits_.bytes_max && !idle_.empty()) end_oldest();
    if (bytes_ + size > limits_.bytes_max) {
      return Error{Code::kResourceExhausted, concat("batches of this model take ", bytes_,
                                                    " bytes already; try again, or send smaller requests")};
    }
    HEADRACE_TRY(SharedMemory memory, SharedMemory::create(size));
    auto piece = std::make_unique<NumberedMemory>(std::move(memory), next_number_++);
    HEADRACE_CHECK(on_made_(*piece));
    bytes_ += size;
    return shared(std::move(piece));
  }

 private:
  std::shared_ptr<NumberedMemory> shared(std::unique_ptr<NumberedMemory> piece) {
    return {piece.release(), [self = shared_from_this()](NumberedMemory* back) {
              self->give_back(std::unique_ptr<NumberedMemory>(back));
            }};
  }

  void give_back(std::unique_ptr<NumberedMemory> piece) {
    const std::scoped_lock lock(mutex_);
    idle_bytes_ += piece->bytes().size();
    idle_.push_back(std::move(piece));
    while (idle_bytes_ > limits_.idle_bytes_max) end_oldest();
  }

  void end_oldest() {
    const std::uint64_t size = idle_.front()->bytes().size();
    idle_bytes_ -= size;
    bytes_ -= size;
    on_ended_(idle_.front()->number());
    idle_.erase(idle_.begin());
  }

  const BatchMemoryLimits limits_;
  const std::function<Status(const NumberedMemory&)> on_made_;
  const std::function<void(std::uint32_t)> on_ended_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<NumberedMemory>> idle_;  // the least recently used first
  std::uint64_t bytes_ = 0;
  std::uint64_t idle_bytes_ = 0;
  std::uint32_t next_number_ = 1;
};

BatchMemoryPool::BatchMemoryPool(BatchMemoryLimits limits,
                                 std::function<Status(const NumberedMemory&)> on_made,
                                 std::function<void(std::uint32_t)> on_ended)
    : state_(std::make_shared<State>(limits, std::move(on_made), std::move(on_ended))) {}

Result<std::shared_ptr<NumberedMemory>> BatchMemoryPool::take(std::uint64_t size_bytes) {
  return state_->take(size_bytes);
}

}  // namespace headrace
