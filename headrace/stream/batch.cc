#include "headrace/stream/batch.h"

#include <new>
#include <utility>

namespace headrace {
namespace {

constexpr auto kAlignment = static_cast<std::align_val_t>(kBatchAlignmentBytes);

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kBatchAlignmentBytes - 1) / kBatchAlignmentBytes * kBatchAlignmentBytes;
}

}  // namespace

std::uint64_t row_bytes(const Column& column) {
  return column.length.value_or(0) * (column.type == FeatureType::kFloat32 ? 4U : 8U);
}

Batch& Batch::operator=(Batch&& other) noexcept {
  if (this == &other) return *this;
  if (memory_ != nullptr) pool_->give_back(memory_);
  epoch = other.epoch, number = other.number, rows = other.rows, records = other.records;
  pool_ = std::move(other.pool_);
  memory_ = std::exchange(other.memory_, nullptr);
  columns_ = std::move(other.columns_);
  weights_ = other.weights_;
  return *this;
}

Batch::Batch(Batch&& other) noexcept { *this = std::move(other); }

Batch::~Batch() {
  if (memory_ != nullptr) pool_->give_back(memory_);
}

BatchPool::BatchPool(std::vector<Column> columns, std::uint64_t rows)
    : columns_(std::move(columns)), rows_(rows) {
  for (const Column& column : columns_) {
    offsets_.push_back(batch_bytes_);
    batch_bytes_ += aligned(rows_ * row_bytes(column));
  }
  offsets_.push_back(batch_bytes_);
  batch_bytes_ += aligned(rows_ * sizeof(float));
}

BatchPool::~BatchPool() {
  for (std::byte* memory : free_) ::operator delete(memory, kAlignment);
}

Batch BatchPool::take() {
  Batch batch;
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      batch.memory_ = free_.back();
      free_.pop_back();
    }
  }
  if (batch.memory_ == nullptr)
    batch.memory_ = static_cast<std::byte*>(::operator new(batch_bytes_, kAlignment));
  batch.pool_ = shared_from_this();
  batch.rows = rows_;
  for (std::size_t i = 0; i < columns_.size(); ++i) batch.columns_.push_back(batch.memory_ + offsets_[i]);
  batch.weights_ = reinterpret_cast<float*>(batch.memory_ + offsets_.back());
  return batch;
}

void BatchPool::give_back(std::byte* memory) {
  const std::lock_guard lock(mutex_);
  free_.push_back(memory);
}

}  // namespace headrace
