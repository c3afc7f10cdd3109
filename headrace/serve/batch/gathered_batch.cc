#include "headrace/serve/batch/gathered_batch.h"

#include <cstring>

namespace headrace {

void GatheredBatch::clear(std::size_t input, std::uint64_t first, std::uint64_t count) const {
  std::memset(row(input, first), 0, count * layout.row_bytes(input));
}

void GatheredBatch::fill_up(std::uint64_t filled_rows) const {
  for (std::size_t i = 0; i < layout.inputs().size(); ++i) {
    for (std::uint64_t at = rows; at < filled_rows; ++at)
      std::memcpy(row(i, at), row(i, 0), layout.row_bytes(i));
  }
}

void GatheredBatch::copy_piece(const BatchedPiece& piece, std::uint64_t texts_bytes) {
  const GatheredBatch& from = *piece.batch;
  const std::uint64_t texts_begin = piece.texts_end - texts_bytes;
  for (std::size_t i = 0; i < layout.inputs().size(); ++i) {
    const std::uint64_t bytes = piece.rows * layout.row_bytes(i);
    std::memcpy(row(i, 0), from.row(i, piece.first_row), bytes);
    if (layout.inputs()[i].type != DataType::kBytes) continue;
    for (std::uint64_t at = 0; at < bytes; at += sizeof(TextPlace)) {
      TextPlace place;
      std::memcpy(&place, row(i, 0) + at, sizeof place);
      if (place.size_bytes == 0)
        place.offset_bytes = 0;  // this text was never set
      else
        place.offset_bytes -= static_cast<std::uint32_t>(texts_begin);
      std::memcpy(row(i, 0) + at, &place, sizeof place);
    }
  }
  if (texts_bytes > 0) {
    std::memcpy(memory->bytes().data() + layout.texts_offset(),
                from.memory->bytes().data() + from.layout.texts_offset() + texts_begin, texts_bytes);
  }
  rows = piece.rows;
  texts_used = texts_bytes;
}

}  // namespace headrace
