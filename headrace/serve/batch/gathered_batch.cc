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

void GatheredBatch::copy_rows(const GatheredBatch& from, std::uint64_t first, std::uint64_t count) {
  for (std::size_t i = 0; i < layout.inputs().size(); ++i)
    std::memcpy(row(i, 0), from.row(i, first), count * layout.row_bytes(i));
  if (from.texts_used > 0) {
    std::memcpy(memory->bytes().data() + layout.texts_offset(),
                from.memory->bytes().data() + from.layout.texts_offset(), from.texts_used);
  }
  rows = count;
  texts_used = from.texts_used;
}

}  // namespace headrace
