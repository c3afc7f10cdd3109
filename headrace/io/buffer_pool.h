#pragma once

/// \file Large buffers that are used again: their pages stay mapped, so filling one costs no page faults.

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "headrace/base/bytes.h"

namespace headrace {

class BufferPool;

/// Memory of a pool; goes back to it at the end. Movable. Alignment: 64 bytes.
class PooledBuffer {
 public:
  PooledBuffer() = default;
  PooledBuffer(PooledBuffer&& other) noexcept { *this = std::move(other); }
  PooledBuffer& operator=(PooledBuffer&& other) noexcept;
  ~PooledBuffer() { give_back(); }

  std::byte* data() const { return memory_; }
  /// As asked for.
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  BytesView view() const { return {memory_, size_}; }
  MutableBytesView bytes() const { return {memory_, size_}; }

 private:
  friend class BufferPool;
  void give_back();

  std::shared_ptr<BufferPool> pool_;
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// Thread-safe; lives as long as any of its buffers. It keeps what comes back until it goes itself, or until
/// a larger buffer is needed: then the smallest of those kept is freed for it. So its memory is bounded by
/// the most buffers in use at once, each as large as the largest.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  static std::shared_ptr<BufferPool> create() { return std::shared_ptr<BufferPool>(new BufferPool); }
  ~BufferPool();

  /// The content is undefined. Throws std::bad_alloc.
  PooledBuffer take(std::size_t size);

  /// Bytes of the buffers in use.
  std::size_t used_bytes() const;

 private:
  friend class PooledBuffer;
  struct Free {
    std::byte* memory;
    std::size_t capacity;
  };
  BufferPool() = default;
  void give_back(std::byte* memory, std::size_t capacity);

  mutable std::mutex mutex_;
  std::vector<Free> free_;  // ascending by capacity
  std::size_t used_bytes_ = 0;
};

}  // namespace headrace
