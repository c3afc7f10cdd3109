#pragma once

/// \file Large buffers that are reused. Their pages stay mapped, so that filling a buffer causes no page
/// faults.

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "headrace/base/bytes.h"
#include "headrace/os/large_memory.h"

namespace headrace {

class BufferPool;

/// Memory of a pool. The destructor returns it to the pool. Movable. Alignment: 64 bytes.
class PooledBuffer {
 public:
  PooledBuffer() = default;
  PooledBuffer(PooledBuffer&& other) noexcept { *this = std::move(other); }
  PooledBuffer& operator=(PooledBuffer&& other) noexcept;
  ~PooledBuffer() { give_back(); }

  std::byte* data() const { return memory_; }
  /// The size that was asked for.
  std::size_t size() const { return size_; }
  BytesView view() const { return {memory_, size_}; }
  MutableBytesView bytes() const { return {memory_, size_}; }

 private:
  friend class BufferPool;
  using Kept = std::multimap<std::size_t, LargeMemory>;  // by capacity
  void give_back();

  std::shared_ptr<BufferPool> pool_;
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0;
  Kept::node_type place_;  // its node in the pool's map, so that giving back allocates nothing
};

/// Thread-safe. Lives as long as any of its buffers.
///
/// Memory: a buffer takes at most a quarter (or 64 bytes) more than was asked for. All buffers together,
/// those in use and those kept for later, take at most the largest amount that was ever in use at one time.
/// Before the pool allocates a new buffer, it frees kept buffers until that holds. Kept buffers are freed
/// with the pool. Cost of taking and giving back: O(log of the number of kept buffers), under one mutex.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  static std::shared_ptr<BufferPool> create() { return std::shared_ptr<BufferPool>(new BufferPool); }
  ~BufferPool();

  /// Returns a buffer with undefined content. Among buffers of the same size, the one returned last is taken
  /// first, because the processor's caches may still hold it. Throws std::bad_alloc.
  PooledBuffer take(std::size_t size);

  /// The memory of all buffers, in use and kept.
  std::size_t memory_bytes() const;

 private:
  friend class PooledBuffer;
  using Kept = PooledBuffer::Kept;
  BufferPool() = default;
  Kept::node_type reuse(std::size_t size, std::size_t wanted);
  void free_kept(std::size_t wanted);
  void give_back(Kept::node_type buffer);

  mutable std::mutex mutex_;
  Kept kept_;
  std::size_t kept_bytes_ = 0;
  std::size_t used_bytes_ = 0;
  std::size_t most_used_bytes_ = 0;
};

}  // namespace headrace
