#include "headrace/stream/batch.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace headrace {
namespace {

static_assert(kLargeMemoryAlignmentBytes % kBatchAlignmentBytes == 0);

constexpr std::size_t kSpareShare = 16;

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kBatchAlignmentBytes - 1) / kBatchAlignmentBytes * kBatchAlignmentBytes;
}

template <typename T>
std::uint64_t memory_of(const std::vector<T>& values) {
  return values.capacity() * sizeof(T);
}

// The range of values (numbers or strings) of a row that is kept.
struct RowRange {
  std::size_t begin = 0, end = 0;
};

template <typename T>
void keep_ranges(std::vector<T>& values, std::span<const RowRange> ranges) {
  std::vector<T> kept;
  for (const RowRange& range : ranges)
    kept.insert(kept.end(), values.begin() + static_cast<std::ptrdiff_t>(range.begin),
                values.begin() + static_cast<std::ptrdiff_t>(range.end));
  values = std::move(kept);
}

// The strings lie one after another, so the kept ones only move towards the front.
void keep_strings(VariableColumn& column, std::span<const RowRange> ranges) {
  std::vector<std::int64_t> offsets = {0};
  for (const RowRange& range : ranges) {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const std::int64_t from = column.byte_offsets[i], size = column.byte_offsets[i + 1] - from;
      if (size > 0)
        std::memmove(column.bytes.data() + offsets.back(), column.bytes.data() + from,
                     static_cast<std::size_t>(size));
      offsets.push_back(offsets.back() + size);
    }
  }
  column.bytes.resize(static_cast<std::size_t>(offsets.back()));
  column.byte_offsets = std::move(offsets);
}

}  // namespace

BatchColumn batch_column(const Column& feature) { return {feature.type, feature.length}; }

bool is_fixed(const BatchColumn& column) { return column.length && column.type != DataType::kBytes; }

std::uint64_t row_bytes(const BatchColumn& column) {
  if (!is_fixed(column)) return 0;
  return *column.length * data_type_size_bytes(column.type);
}

void GatheredBytes::resize(std::size_t size) {
  if (size > capacity_) {
    // Batches differ in size. With this spare room, most later batches fit, too.
    const std::size_t wanted = std::max(size + size / kSpareShare, kLargeMemoryAlignmentBytes);
    memory_.reset();
    size_ = capacity_ = 0;
    memory_ = make_large_memory(wanted);
    capacity_ = wanted;
  }
  size_ = size;
}

void VariableColumn::clear() {
  floats.clear(), integers.clear(), bytes.clear(), row_offsets.clear(), byte_offsets.clear();
}

std::uint64_t VariableColumn::capacity_bytes() const {
  return memory_of(floats) + memory_of(integers) + bytes.capacity() + memory_of(row_offsets) +
         memory_of(byte_offsets);
}

struct Batch::Memory {
  explicit Memory(std::uint64_t fixed_bytes, std::size_t columns)
      : fixed(make_large_memory(fixed_bytes)), variable(columns) {}

  const BatchPool* pool = nullptr;  // the pool that this memory belongs to; the batch's handles keep it alive
  LargeMemory fixed;
  std::vector<VariableColumn> variable;  // by column; empty for fixed columns
  std::uint64_t measured_bytes = 0;      // the size that the pool has counted for this batch
};

ColumnData Batch::data(std::size_t i) const {
  const BatchColumn& column = memory_->pool->columns()[i];
  if (is_fixed(column)) return {this->column(i), rows * *column.length};
  VariableColumn& from = memory_->variable[i];
  ColumnData data{.row_offsets = from.row_offsets, .byte_offsets = from.byte_offsets};
  if (column.type == DataType::kBytes) {
    data.values = from.bytes.data(), data.value_count = from.bytes.size();
  } else if (column.type == DataType::kFloat32) {
    data.values = reinterpret_cast<std::byte*>(from.floats.data()), data.value_count = from.floats.size();
  } else {
    data.values = reinterpret_cast<std::byte*>(from.integers.data()), data.value_count = from.integers.size();
  }
  return data;
}

std::uint64_t Batch::content_bytes() const {
  const std::vector<BatchColumn>& columns = memory_->pool->columns();
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const ColumnData data = this->data(i);
    const std::size_t value_size_bytes = std::max<std::size_t>(1, data_type_size_bytes(columns[i].type));
    bytes +=
        data.value_count * value_size_bytes + data.row_offsets.size_bytes() + data.byte_offsets.size_bytes();
  }
  return bytes;
}

std::byte* Batch::column(std::size_t i) const { return memory_->fixed.get() + memory_->pool->offsets_[i]; }

float* Batch::weights() const {
  return reinterpret_cast<float*>(memory_->fixed.get() + memory_->pool->offsets_.back());
}

VariableColumn& Batch::variable(std::size_t i) const { return memory_->variable[i]; }

void Batch::keep_rows(std::size_t column, std::span<const std::size_t> kept) const {
  const BatchColumn& type = memory_->pool->columns()[column];
  if (is_fixed(type)) {
    const std::uint64_t bytes = row_bytes(type);
    for (std::size_t i = 0; i < kept.size(); ++i)
      std::memmove(this->column(column) + i * bytes, this->column(column) + kept[i] * bytes, bytes);
    return;
  }
  VariableColumn& variable = memory_->variable[column];
  std::vector<RowRange> ranges;
  std::vector<std::int64_t> row_offsets = {0};
  for (const std::size_t row : kept) {
    if (type.length) {
      ranges.push_back({row * *type.length, (row + 1) * *type.length});
    } else {
      ranges.push_back({static_cast<std::size_t>(variable.row_offsets[row]),
                        static_cast<std::size_t>(variable.row_offsets[row + 1])});
    }
    row_offsets.push_back(row_offsets.back() +
                          static_cast<std::int64_t>(ranges.back().end - ranges.back().begin));
  }
  if (!type.length) variable.row_offsets = std::move(row_offsets);
  if (type.type == DataType::kBytes) {
    keep_strings(variable, ranges);
  } else {
    keep_ranges(variable.floats, type.type == DataType::kFloat32 ? ranges : std::span<const RowRange>());
    keep_ranges(variable.integers, type.type == DataType::kFloat32 ? std::span<const RowRange>() : ranges);
  }
}

void Batch::drop_rows_without_record() {
  if (records == rows) return;
  std::vector<std::size_t> kept;
  for (std::size_t row = 0; row < rows; ++row) {
    if (weights()[row] != 0) kept.push_back(row);
  }
  for (std::size_t i = 0; i < memory_->pool->columns().size(); ++i) keep_rows(i, kept);
  std::fill_n(weights(), rows, 0.0F);
  std::fill_n(weights(), kept.size(), 1.0F);
  rows = kept.size();
}

BatchPool::BatchPool(std::vector<BatchColumn> columns, std::uint64_t rows)
    : columns_(std::move(columns)), rows_(rows) {
  for (const BatchColumn& column : columns_) {
    offsets_.push_back(fixed_bytes_);
    fixed_bytes_ += aligned(rows_ * row_bytes(column));
  }
  offsets_.push_back(fixed_bytes_);
  fixed_bytes_ += aligned(rows_ * sizeof(float));
}

std::shared_ptr<BatchPool> BatchPool::create(std::vector<BatchColumn> columns, std::uint64_t rows) {
  return std::shared_ptr<BatchPool>(new BatchPool(std::move(columns), rows));
}

BatchPool::~BatchPool() = default;

Batch BatchPool::take() {
  std::unique_ptr<Batch::Memory> memory;
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      memory = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (memory == nullptr) memory = std::make_unique<Batch::Memory>(fixed_bytes_, columns_.size());
  for (VariableColumn& column : memory->variable) column.clear();
  memory->pool = this;
  {
    const std::lock_guard lock(mutex_);
    free_.reserve(free_.size() + outstanding_ + 1);  // so that returning a batch allocates no memory
    ++outstanding_;
  }
  Batch batch;
  batch.rows = rows_;
  batch.memory_ = {memory.release(), [pool = shared_from_this()](Batch::Memory* done) {
                     pool->give_back(std::unique_ptr<Batch::Memory>(done));
                   }};
  measure(batch);
  return batch;
}

void BatchPool::measure(const Batch& batch) {
  std::uint64_t bytes = fixed_bytes_;
  for (const VariableColumn& column : batch.memory_->variable) bytes += column.capacity_bytes();
  const std::lock_guard lock(mutex_);
  outstanding_bytes_ += bytes - std::exchange(batch.memory_->measured_bytes, bytes);
}

std::uint64_t BatchPool::outstanding() const {
  const std::lock_guard lock(mutex_);
  return outstanding_;
}

std::uint64_t BatchPool::outstanding_bytes() const {
  const std::lock_guard lock(mutex_);
  return outstanding_bytes_;
}

void BatchPool::on_return(std::function<void()> called) {
  const std::lock_guard lock(mutex_);
  on_return_ = std::move(called);
}

void BatchPool::keep_none() {
  const std::lock_guard lock(mutex_);
  keeps_none_ = true;
  free_.clear();
}

void BatchPool::give_back(std::unique_ptr<Batch::Memory> memory) {
  const std::lock_guard lock(mutex_);
  --outstanding_;
  outstanding_bytes_ -= std::exchange(memory->measured_bytes, 0);
  if (!keeps_none_) free_.push_back(std::move(memory));
  if (on_return_) on_return_();
}

}  // namespace headrace
