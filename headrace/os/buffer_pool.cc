#include "headrace/os/buffer_pool.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <new>
#include <utility>

namespace headrace {
namespace {

// Sizes are rounded up to a sixteenth, so that buffers of nearly the same size can replace each other. A kept
// buffer is also used for a size that it exceeds by at most 1 / kReuseShare of that size.
constexpr std::size_t kRoundShare = 16;
constexpr std::size_t kReuseShare = 4;
// Sums of sizes up to this one do not overflow.
constexpr std::size_t kLargestBytes = std::size_t{1} << 60;

std::size_t rounded_up(std::size_t size) {
  if (size > kLargestBytes) throw std::bad_alloc();
  const std::size_t step = std::max(std::bit_floor(size) / kRoundShare, kLargeMemoryAlignmentBytes);
  return std::max((size + step - 1) / step, std::size_t{1}) * step;
}

}  // namespace

PooledBuffer& PooledBuffer::operator=(PooledBuffer&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  pool_ = std::move(other.pool_);
  memory_ = std::exchange(other.memory_, nullptr);
  size_ = std::exchange(other.size_, 0);
  place_ = std::move(other.place_);
  return *this;
}

void PooledBuffer::give_back() {
  if (memory_ != nullptr) pool_->give_back(std::move(place_));
  memory_ = nullptr;
  pool_.reset();
}

BufferPool::~BufferPool() = default;

PooledBuffer BufferPool::take(std::size_t size) {
  const std::size_t wanted = rounded_up(size);
  PooledBuffer buffer;
  {
    const std::lock_guard lock(mutex_);
    buffer.place_ = reuse(size, wanted);
    if (!buffer.place_) free_kept(wanted);
  }
  if (!buffer.place_) {
    Kept made;
    buffer.place_ = made.extract(made.emplace(wanted, make_large_memory(wanted)));
    const std::lock_guard lock(mutex_);
    used_bytes_ += wanted;
    most_used_bytes_ = std::max(most_used_bytes_, used_bytes_);
    free_kept(0);  // another thread may have used the room meanwhile
  }
  buffer.pool_ = shared_from_this();
  buffer.memory_ = buffer.place_.mapped().get();
  buffer.size_ = size;
  return buffer;
}

// Returns a kept buffer of about that size, if there is one. REQUIRES: mutex_ is held
BufferPool::Kept::node_type BufferPool::reuse(std::size_t size, std::size_t wanted) {
  const auto fit = kept_.lower_bound(wanted);
  if (fit == kept_.end() || (fit->first > wanted && fit->first - size > size / kReuseShare)) return {};
  kept_bytes_ -= fit->first;
  used_bytes_ += fit->first;
  most_used_bytes_ = std::max(most_used_bytes_, used_bytes_);
  return kept_.extract(fit);
}

// Frees kept buffers until there is room for `wanted` bytes, beginning with those that the new buffer
// outgrows. REQUIRES: mutex_ is held
void BufferPool::free_kept(std::size_t wanted) {
  while (!kept_.empty() && kept_bytes_ + used_bytes_ + wanted > most_used_bytes_) {
    auto leaving = kept_.lower_bound(wanted);
    leaving = leaving == kept_.begin() ? std::prev(kept_.end()) : std::prev(leaving);
    kept_bytes_ -= leaving->first;
    kept_.erase(leaving);
  }
}

std::size_t BufferPool::memory_bytes() const {
  const std::lock_guard lock(mutex_);
  return kept_bytes_ + used_bytes_;
}

void BufferPool::give_back(Kept::node_type buffer) {
  const std::lock_guard lock(mutex_);
  used_bytes_ -= buffer.key();
  kept_bytes_ += buffer.key();
  // Goes before buffers of the same size: the buffer that was filled last is taken next, while it is still in
  // the processor's caches.
  const auto equals = kept_.lower_bound(buffer.key());
  kept_.insert(equals, std::move(buffer));
}

}  // namespace headrace
