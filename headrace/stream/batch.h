#pragma once

/// \file Batches: columns in aligned buffers, which are reused.

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
  /// The number of values in a row; none: any number.
  std::optional<std::uint32_t> length{};
};

/// The column for a feature whose values are stored unchanged.
BatchColumn batch_column(const Column& feature);

/// True if every row has the same number of numbers. The rows of every other column vary in size.
bool is_fixed(const BatchColumn& column);

/// Bytes of one row of a fixed column; 0 for any other column.
std::uint64_t row_bytes(const BatchColumn& column);

/// The memory of one column of a batch.
///
/// | column        | `values`                  | `row_offsets`              | `byte_offsets`               |
/// |---------------|---------------------------|----------------------------|------------------------------|
/// | numbers, n    | rows × n, row-major       | none                       | none                         |
/// | numbers, any  | all rows' one after another | of each row in `values`  | none                         |
/// | bytes, n      | all strings' bytes        | none                       | of each of rows × n strings  |
/// | bytes, any    | all strings' bytes        | of each row's first string | of each string               |
///
/// Offsets begin with 0. There is one more offset than rows or strings: the last one says where they end.
struct ColumnData {
  std::byte* values = nullptr;
  std::uint64_t value_count = 0;  // numbers, or bytes
  std::span<const std::int64_t> row_offsets{};
  std::span<const std::int64_t> byte_offsets{};
};

/// A byte buffer whose content is overwritten after each change of its size: growing copies and clears
/// nothing.
class GatheredBytes {
 public:
  std::byte* data() const { return memory_.get(); }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  void clear() { size_ = 0; }
  /// Changes the size; the content is undefined afterwards.
  /// \throws std::bad_alloc  no memory; the buffer is empty then
  void resize(std::size_t size);

 private:
  LargeMemory memory_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// The values of a column that is not fixed, while they are gathered and afterwards.
struct VariableColumn {
  std::vector<float> floats;
  std::vector<std::int64_t> integers;
  GatheredBytes bytes;
  std::vector<std::int64_t> row_offsets;
  std::vector<std::int64_t> byte_offsets;

  void clear();
  /// The memory that is held, whether used or not.
  std::uint64_t capacity_bytes() const;
};

class BatchPool;

/// `rows` rows of every column, with a weight for each row: 1 for a record, 0 for a row that repeats another
/// record because the epoch ended or a record was corrupt. A batch is a cheap handle: copies share the
/// memory, which returns to its pool when the last copy is destroyed. Several threads may read copies; only
/// the maker may write.
class Batch {
 public:
  std::uint64_t epoch = 0;
  std::uint64_t number = 0;  // within the epoch
  std::uint64_t rows = 0;
  std::uint64_t records = 0;  // rows with weight 1

  /// Views a column; valid as long as a copy of the batch exists. REQUIRES: i < number of columns
  ColumnData data(std::size_t i) const;
  /// The size of all columns' values and offsets.
  std::uint64_t content_bytes() const;
  /// The values of a fixed column. REQUIRES: column i is fixed.
  std::byte* column(std::size_t i) const;
  /// The weight of each row.
  float* weights() const;
  /// Drops the rows with weight 0. The other rows keep their order, and `rows` becomes `records`. Only the
  /// batch's sole reader may call it, because it moves memory that all copies share. Cost: a copy of the
  /// batch, if there is such a row.
  void drop_rows_without_record();

  /// The buffers in which a column that is not fixed is gathered. For the batch's maker.
  VariableColumn& variable(std::size_t i) const;

 private:
  friend class BatchPool;
  struct Memory;
  void keep_rows(std::size_t column, std::span<const std::size_t> kept) const;

  std::shared_ptr<Memory> memory_;
};

/// Memory for batches of one shape. Thread-safe. A pool lives at least as long as its batches.
class BatchPool : public std::enable_shared_from_this<BatchPool> {
 public:
  static std::shared_ptr<BatchPool> create(std::vector<BatchColumn> columns, std::uint64_t rows);
  ~BatchPool();

  /// Returns a batch of `rows` rows. Its fixed columns are undefined; its other columns are empty.
  /// \throws std::bad_alloc  no memory
  Batch take();

  const std::vector<BatchColumn>& columns() const { return columns_; }
  std::uint64_t rows() const { return rows_; }
  /// The size of the fixed columns and the weights of one batch.
  std::uint64_t fixed_bytes() const { return fixed_bytes_; }
  /// The number of batches that have not been returned, and their memory as last measured.
  std::uint64_t outstanding() const;
  std::uint64_t outstanding_bytes() const;
  /// Measures the batch's columns that are not fixed again, for `outstanding_bytes`.
  void measure(const Batch& batch);
  /// Sets a function that is called, in any thread, whenever a batch has been returned. It must not use the
  /// pool. Null: no function.
  void on_return(std::function<void()> called);
  /// Frees unused memory and, from now on, memory as soon as it is returned.
  void keep_none();

 private:
  friend class Batch;
  friend struct Batch::Memory;
  BatchPool(std::vector<BatchColumn> columns, std::uint64_t rows);
  void give_back(std::unique_ptr<Batch::Memory> memory);

  const std::vector<BatchColumn> columns_;
  const std::uint64_t rows_;
  std::uint64_t fixed_bytes_ = 0;
  std::vector<std::uint64_t> offsets_;  // of the columns, then of the weights, in a batch's fixed memory
  std::function<void()> on_return_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Batch::Memory>> free_;
  bool keeps_none_ = false;
  std::uint64_t outstanding_ = 0;
  std::uint64_t outstanding_bytes_ = 0;
};

}  // namespace headrace
