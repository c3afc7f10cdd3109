#pragma once

/// \file A pool of shared memory for batches.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "headrace/os/shared_memory.h"
#include "headrace/serve/batch/batcher.h"

namespace headrace {

/// A piece of shared memory that the other process knows by its number.
class NumberedMemory final : public BatchMemory {
 public:
  NumberedMemory(SharedMemory memory, std::uint32_t number) : memory_(std::move(memory)), number_(number) {}
  std::span<std::byte> bytes() override { return memory_.bytes(); }
  std::uint32_t number() const { return number_; }
  const SharedMemory& shared() const { return memory_; }

 private:
  SharedMemory memory_;
  std::uint32_t number_;
};

struct BatchMemoryLimits {
  std::uint64_t bytes_max = 0;       // of all pieces together
  std::uint64_t idle_bytes_max = 0;  // of all idle pieces together
};

/// Gives out pieces of shared memory and takes them back. Thread-safe. Pieces may outlive the pool.
class BatchMemoryPool {
 public:
  /// `on_made` is called for each new piece before it is given out, `on_ended` for each piece that is freed.
  /// The pool is locked during these calls: they must not call it.
  BatchMemoryPool(BatchMemoryLimits limits, std::function<Status(const NumberedMemory&)> on_made,
                  std::function<void(std::uint32_t number)> on_ended);
  /// A piece of at least this size, with arbitrary content. It returns to the pool with the last pointer.
  /// \error kResourceExhausted  all pieces together would be too large, or the system has no memory
  /// \error of `on_made`
  Result<std::shared_ptr<NumberedMemory>> take(std::uint64_t size_bytes);

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace headrace
