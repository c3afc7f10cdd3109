#include "headrace/stream/window_assembly.h"

#include <algorithm>
#include <cstring>

namespace headrace {

OpenWindow open_window(std::uint64_t epoch, std::shared_ptr<const EpochOrder> order, std::uint64_t number,
                       const BatchLayout& layout) {
  OpenWindow open{.epoch = epoch, .order = std::move(order)};
  open.window = open.order->windows()[number];
  open.position_of_record.resize(open.window.record_count);
  open.order->fill_window_positions(number, open.position_of_record);
  const std::uint64_t first_batch = open.window.first_position / layout.batch_size;
  const std::uint64_t last_position = open.window.first_position + open.window.record_count - 1;
  const std::uint64_t end_batch = std::min(last_position / layout.batch_size + 1, layout.batches_per_epoch);
  open.first_sequence = epoch * layout.batches_per_epoch + std::min(first_batch, end_batch);
  open.end_sequence = epoch * layout.batches_per_epoch + end_batch;
  return open;
}

void fill_empty_places(Batch& batch, const std::vector<Column>& columns) {
  const float* weights = batch.weights();
  const auto good = static_cast<std::uint64_t>(std::find(weights, weights + batch.rows, 1.0F) - weights);
  batch.records = static_cast<std::uint64_t>(std::count(weights, weights + batch.rows, 1.0F));
  if (batch.records == batch.rows) return;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const std::uint64_t size_bytes = row_bytes(columns[c]);
    for (std::uint64_t row = 0; row < batch.rows; ++row) {
      if (weights[row] != 0) continue;
      std::byte* target = batch.column(c) + row * size_bytes;
      if (good < batch.rows) {
        std::memcpy(target, batch.column(c) + good * size_bytes, size_bytes);
      } else {
        std::memset(target, 0, size_bytes);
      }
    }
  }
}

}  // namespace headrace
