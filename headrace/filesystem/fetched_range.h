#pragma once

/// \file A range of an object that is being fetched or was fetched. Readers share it, and wait for it.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>

#include "headrace/os/buffer_pool.h"
#include "headrace/store/location.h"

namespace headrace {

/// A budget for the memory that all files of a file system take together, in bytes. Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t bytes) : left_(bytes) {}

  /// A part of the budget. The destructor gives it back. Movable.
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
  /// Takes a part of the budget. The result converts to false if that much is not left. The budget must
  /// outlive the share.
  Share take(std::uint64_t bytes);

 private:
  std::mutex mutex_;
  std::uint64_t left_;
};

/// It is fetched once, by the first thread that asks for it: a background thread, or a thread that waits for
/// the range. Thread-safe.
class FetchedRange {
 public:
  /// A range of that version of the object, which must have these bytes. Takes memory from the pool, and
  /// keeps `share` for as long as it lives.
  FetchedRange(Location object, Version version, std::uint64_t offset_bytes, std::size_t size_bytes,
               BufferPool& pool, MemoryBudget::Share share);
  /// A range that has already been fetched: copies `data` into memory from the pool.
  FetchedRange(std::uint64_t offset_bytes, BytesView data, BufferPool& pool);

  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return begin_ + buffer_.size(); }

  /// Fetches the range, unless a thread has already begun to. A stop request on `stop` ends the fetch early,
  /// as a failure.
  void fetch(const std::stop_token& stop);
  /// Waits until the range is fetched; fetches it if no thread has begun to. The view is valid as long as the
  /// range lives. `stop` applies only if this thread fetches.
  /// \error as for read_exactly with `if_version`, also if another thread has fetched the range
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
