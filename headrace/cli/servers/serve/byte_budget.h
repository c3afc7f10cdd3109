#pragma once

/// \file A limit on the bytes that all connections of a server hold together.

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "headrace/base/result.h"
#include "headrace/base/text.h"

namespace headrace {

/// Counts bytes in use, up to a limit. Thread-safe, without a lock.
class ByteBudget {
 public:
  explicit ByteBudget(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  /// Takes bytes. Returns false, and takes nothing, if more than the limit would be in use.
  bool try_take(std::uint64_t bytes) {
    std::uint64_t used = used_bytes_.load(std::memory_order_relaxed);
    while (bytes <= limit_bytes_ && used <= limit_bytes_ - bytes) {
      if (used_bytes_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  /// Takes bytes that exist already. May exceed the limit; later calls of try_take then fail.
  void take(std::uint64_t bytes) { used_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void give_back(std::uint64_t bytes) { used_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

  std::uint64_t limit_bytes() const { return limit_bytes_; }
  std::uint64_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }
  bool is_exhausted() const { return used_bytes() >= limit_bytes_; }

 private:
  const std::uint64_t limit_bytes_;
  std::atomic<std::uint64_t> used_bytes_{0};
};

/// Bytes taken from a budget, which are given back on destruction. Not thread-safe.
class ByteCharge {
 public:
  ByteCharge() = default;
  explicit ByteCharge(std::shared_ptr<ByteBudget> budget) : budget_(std::move(budget)) {}
  ByteCharge(ByteCharge&& other) noexcept
      : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}
  ByteCharge& operator=(ByteCharge&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~ByteCharge() { clear(); }

  /// Takes all of these bytes, or none. Without a budget, there is no limit.
  bool try_add(std::uint64_t bytes) {
    if (budget_ && !budget_->try_take(bytes)) return false;
    bytes_ += bytes;
    return true;
  }
  void add(std::uint64_t bytes) {
    if (budget_) budget_->take(bytes);
    bytes_ += bytes;
  }
  /// REQUIRES: this holds at least as many
  void give_back(std::uint64_t bytes) {
    if (budget_) budget_->give_back(bytes);
    bytes_ -= bytes;
  }
  void clear() { give_back(bytes_); }

  /// Reserves bytes for an answer that is about to be encoded and may become that large.
  /// \error kResourceExhausted  the budget has fewer bytes left now, or is smaller than that
  Status reserve_answer(std::uint64_t bytes) {
    if (try_add(bytes)) return {};
    if (bytes > budget_->limit_bytes()) {
      return Error{Code::kResourceExhausted,
                   concat("the answer may take ", bytes, " bytes, and all together may take ",
                          budget_->limit_bytes(), " (--memory): ask for fewer rows or outputs")};
    }
    return Error{Code::kResourceExhausted,
                 "the server holds as many bytes of requests as it may; try again later"};
  }

 private:
  std::shared_ptr<ByteBudget> budget_;
  std::uint64_t bytes_ = 0;
};

}  // namespace headrace
