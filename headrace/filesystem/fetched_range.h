#pragma once

/// \file A range of an object that is being fetched, or has been: readers share it, and wait for it.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>

#include "headrace/os/buffer_pool.h"
#include "headrace/store/location.h"

namespace headrace {

/// Memory that all files of a file system may take together, in bytes. Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t bytes) : left_(bytes) {}

  /// A part of the budget; goes back when it is destroyed. Movable.
  class Share {
   public:
    Share() = default;
    Share(Share&& other) noexcept { *this = std::move(other); }
    Share& operator=(Share&& other) noexcept;
    ~Share();
    explicit operator bool() const { return budget_ != nullptr; }

   private:
    friend class MemoryBudget;
    MemoryBudget* budget_ = nullptr;
    std::uint64_t bytes_ = 0;
  };
  /// None if that much is not left. The budget must outlive it.
  Share take(std::uint64_t bytes);

 private:
  std::mutex mutex_;
  std::uint64_t left_;
};

/// Fetched once, by the first that comes: a background thread, or a thread that waits for it. Thread-safe.
class FetchedRange {
 public:
  /// A range of that version of the object, which must have these bytes. Takes memory from the pool.
  FetchedRange(Location object, Version version, std::uint64_t offset_bytes, std::size_t size_bytes,
               BufferPool& pool, MemoryBudget::Share share);
  /// Is there already.
  FetchedRange(std::uint64_t offset_bytes, BytesView data, BufferPool& pool);

  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return begin_ + buffer_.size(); }

  /// Fetches it, unless that has begun. `stop` ends it early, as a failure.
  void fetch(const std::stop_token& stop);
  /// Waits until it is there, fetching it if nobody has begun.
  Result<BytesView> wait(const std::stop_token& stop);
  bool has_failed() const;

 private:
  enum class State { kWanted, kFetching, kThere, kFailed };

  const Location object_;
  const Version version_;
  const std::uint64_t begin_;
  const MemoryBudget::Share share_;
  PooledBuffer buffer_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::kWanted;
  Error error_;
};

}  // namespace headrace
