#include "headrace/io/buffer_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

namespace headrace {
namespace {

constexpr std::size_t kAlignmentBytes = 64;
constexpr auto kAlignment = static_cast<std::align_val_t>(kAlignmentBytes);
// Sizes are rounded up, so that buffers of nearly the same size serve for each other.
constexpr std::size_t kRoundBytes = 4096;
constexpr std::size_t kHugePageBytes = 2 << 20;

// Fewer page faults when it is filled, and fewer misses of the address cache when it is read here and there.
// Nothing is lost where the system has none.
void ask_for_huge_pages(std::byte* memory, std::size_t size) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::size_t skipped = (kHugePageBytes - address % kHugePageBytes) % kHugePageBytes;
  if (size < skipped + kHugePageBytes) return;
  madvise(memory + skipped, (size - skipped) / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE);
}

}  // namespace

PooledBuffer& PooledBuffer::operator=(PooledBuffer&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  pool_ = std::move(other.pool_);
  memory_ = std::exchange(other.memory_, nullptr);
  size_ = std::exchange(other.size_, 0);
  capacity_ = std::exchange(other.capacity_, 0);
  return *this;
}

void PooledBuffer::give_back() {
  if (memory_ != nullptr) pool_->give_back(std::exchange(memory_, nullptr), capacity_);
  pool_.reset();
}

BufferPool::~BufferPool() {
  for (const Free& buffer : free_) ::operator delete(buffer.memory, kAlignment);
}

PooledBuffer BufferPool::take(std::size_t size) {
  PooledBuffer buffer;
  buffer.pool_ = shared_from_this();
  buffer.size_ = size;
  const std::size_t wanted = (size / kRoundBytes + 1) * kRoundBytes;
  {
    const std::lock_guard lock(mutex_);
    const auto fit = std::ranges::lower_bound(free_, wanted, {}, &Free::capacity);
    if (fit != free_.end()) {
      buffer.memory_ = fit->memory;
      buffer.capacity_ = fit->capacity;
      free_.erase(fit);
    } else if (!free_.empty()) {
      ::operator delete(free_.front().memory, kAlignment);
      free_.erase(free_.begin());
    }
    used_bytes_ += buffer.capacity_;
  }
  if (buffer.memory_ != nullptr) return buffer;
  buffer.memory_ = static_cast<std::byte*>(::operator new(wanted, kAlignment));
  ask_for_huge_pages(buffer.memory_, wanted);
  buffer.capacity_ = wanted;
  const std::lock_guard lock(mutex_);
  used_bytes_ += wanted;
  return buffer;
}

std::size_t BufferPool::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_bytes_;
}

void BufferPool::give_back(std::byte* memory, std::size_t capacity) {
  const std::lock_guard lock(mutex_);
  used_bytes_ -= capacity;
  free_.insert(std::ranges::lower_bound(free_, capacity, {}, &Free::capacity), {memory, capacity});
}

}  // namespace headrace
