#pragma once

/// \file Batches: columns of fixed-width rows in aligned buffers that are used again.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/record/example_decoder.h"

namespace headrace {

/// Every column of a batch starts at a multiple of this.
inline constexpr std::size_t kBatchAlignmentBytes = 64;

/// Bytes of one row of a column. REQUIRES: a fixed length, of float32 or int64
std::uint64_t row_bytes(const Column& column);

class BatchPool;

/// `rows` rows of every column, and one weight each: 1 for a record, 0 for a place that repeats another
/// record because the epoch ended or a record was corrupt. Movable. Gives its buffer back to the pool when it
/// goes.
class Batch {
 public:
  Batch() = default;
  Batch(Batch&& other) noexcept;
  Batch& operator=(Batch&& other) noexcept;
  ~Batch();

  std::uint64_t epoch = 0;
  std::uint64_t number = 0;  // within the epoch
  std::uint64_t rows = 0;
  std::uint64_t records = 0;  // rows of weight 1

  /// Row-major, `rows` × length values. REQUIRES: column < number of columns
  std::byte* column(std::size_t column) const { return columns_[column]; }
  float* weights() const { return weights_; }

 private:
  friend class BatchPool;
  std::shared_ptr<BatchPool> pool_;
  std::byte* memory_ = nullptr;
  std::vector<std::byte*> columns_;
  float* weights_ = nullptr;
};

/// Buffers for batches of one shape. Thread-safe; lives as long as any of its batches.
class BatchPool : public std::enable_shared_from_this<BatchPool> {
 public:
  BatchPool(std::vector<Column> columns, std::uint64_t rows);
  ~BatchPool();
  /// A batch of `rows` rows; the content is undefined.
  Batch take();
  std::uint64_t batch_bytes() const { return batch_bytes_; }
  const std::vector<Column>& columns() const { return columns_; }

 private:
  friend class Batch;
  void give_back(std::byte* memory);

  const std::vector<Column> columns_;
  const std::uint64_t rows_;
  std::uint64_t batch_bytes_ = 0;
  std::vector<std::uint64_t> offsets_;  // of the columns, then of the weights
  std::mutex mutex_;
  std::vector<std::byte*> free_;
};

}  // namespace headrace
