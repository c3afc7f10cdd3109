#pragma once

/// \file Batches: columns in aligned buffers that are reused.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/os/large_memory.h"
#include "headrace/record/example_decoder.h"

namespace headrace {

/// Every fixed column of a batch starts at a multiple of this.
inline constexpr std::size_t kBatchAlignmentBytes = 64;

/// A column of a batch: the values of a feature, or the samples of an image's pixels.
struct BatchColumn {
  DataType type = DataType::kFloat32;
  /// Number of values in a row; none: any number.
  std::optional<std::uint32_t> length{};
};

/// The column of a feature whose values are taken as they are.
BatchColumn batch_column(const Column& feature);

/// Whether every row has the same number of numbers. All other columns vary in size from row to row.
bool is_fixed(const BatchColumn& column);

/// Bytes of one row of a fixed column; 0 for any other.
std::uint64_t row_bytes(const BatchColumn& column);

/// Where one column of a batch lies.
///
/// | column        | `values`                  | `row_offsets`              | `byte_offsets`               |
/// |---------------|---------------------------|----------------------------|------------------------------|
/// | numbers, n    | rows × n, row-major       | none                       | none                         |
/// | numbers, any  | all rows' one after another | of each row in `values`  | none                         |
/// | bytes, n      | all strings' bytes        | none                       | of each of rows × n strings  |
/// | bytes, any    | all strings' bytes        | of each row's first string | of each string               |
///
/// Offsets begin with 0 and have one more at the end: where the last ends.
struct ColumnData {
  std::byte* values = nullptr;
  std::uint64_t value_count = 0;  // numbers, or bytes
  std::span<const std::int64_t> row_offsets{};
  std::span<const std::int64_t> byte_offsets{};
};

/// Bytes that are all overwritten when the size changes: growing copies and clears nothing.
class GatheredBytes {
 public:
  std::byte* data() const { return memory_.get(); }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  void clear() { size_ = 0; }
  /// The content is undefined. Throws std::bad_alloc, and is empty then.
  void resize(std::size_t size);

 private:
  LargeMemory memory_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// Values of a column that is not fixed, while they are gathered and afterwards.
struct VariableColumn {
  std::vector<float> floats;
  std::vector<std::int64_t> integers;
  GatheredBytes bytes;
  std::vector<std::int64_t> row_offsets;
  std::vector<std::int64_t> byte_offsets;

  void clear();
  /// Memory held, used or not.
  std::uint64_t capacity_bytes() const;
};

class BatchPool;

/// `rows` rows of every column, and one weight each: 1 for a record, 0 for a row that repeats another record
/// because the epoch ended or a record was corrupt. A cheap handle: copies share the memory, which returns to
/// its pool when the last copy is destroyed. Several threads may read copies; only the maker may write.
class Batch {
 public:
  std::uint64_t epoch = 0;
  std::uint64_t number = 0;  // within the epoch
  std::uint64_t rows = 0;
  std::uint64_t records = 0;  // rows of weight 1

  /// REQUIRES: i < number of columns
  ColumnData data(std::size_t i) const;
  /// Size of all columns' values and offsets.
  std::uint64_t content_bytes() const;
  /// The values of a fixed column. REQUIRES: it is one
  std::byte* column(std::size_t i) const;
  float* weights() const;
  /// Drops the rows of weight 0; the others keep their order, and `rows` becomes `records`. For the batch's
  /// only reader: it moves what the handles share. Cost: a copy of the batch, if there is such a row.
  void drop_rows_without_record();

  /// Where to gather a column that is not fixed. For the batch's maker.
  VariableColumn& variable(std::size_t i) const;

 private:
  friend class BatchPool;
  struct Memory;
  void keep_rows(std::size_t column, std::span<const std::size_t> kept) const;

  std::shared_ptr<Memory> memory_;
};

/// Memory for batches of one shape. Thread-safe; lives as long as any of its batches.
class BatchPool : public std::enable_shared_from_this<BatchPool> {
 public:
  static std::shared_ptr<BatchPool> create(std::vector<BatchColumn> columns, std::uint64_t rows);
  ~BatchPool();

  /// A batch of `rows` rows; the content is undefined, columns that are not fixed are empty.
  Batch take();

  const std::vector<BatchColumn>& columns() const { return columns_; }
  std::uint64_t rows() const { return rows_; }
  /// Size of the fixed columns and the weights of one batch.
  std::uint64_t fixed_bytes() const { return fixed_bytes_; }
  /// Batches that have not been returned, and their memory, as far as it has been measured.
  std::uint64_t outstanding() const;
  std::uint64_t outstanding_bytes() const;
  /// Adds the present size of the batch's other columns.
  void measure(const Batch& batch);
  /// `called` is called, by any thread, when a batch has been returned; it must not use the pool. Null ends
  /// that.
  void on_return(std::function<void()> called);
  /// Frees unused memory and, from now on, memory that is returned.
  void keep_none();

 private:
  friend class Batch;
  friend struct Batch::Memory;
  BatchPool(std::vector<BatchColumn> columns, std::uint64_t rows);
  void give_back(std::unique_ptr<Batch::Memory> memory);

  const std::vector<BatchColumn> columns_;
  const std::uint64_t rows_;
  std::uint64_t fixed_bytes_ = 0;
  std::vector<std::uint64_t> offsets_;  // of the columns, then of the weights
  std::function<void()> on_return_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Batch::Memory>> free_;
  bool keeps_none_ = false;
  std::uint64_t outstanding_ = 0;
  std::uint64_t outstanding_bytes_ = 0;
};

}  // namespace headrace
