#pragma once

/// \file A batch while it is gathered, and the requests whose rows it has. Part of batcher.h.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "headrace/serve/batch/batcher.h"

namespace headrace {

struct GatheredBatch;

/// A part of a request that lies in one batch.
struct BatchedPiece {
  std::shared_ptr<GatheredBatch> batch;
  std::uint64_t first_in_request = 0;
  std::uint64_t first_row = 0;  // in the batch
  std::uint64_t rows = 0;
  std::uint64_t texts_next = 0;  // where the next text goes, from the beginning of the batch's texts
  std::uint64_t texts_end = 0;
};

struct BatchedRequest {
  RequestOptions options;
  std::vector<BatchedPiece> pieces{};
  AnswerDone done{};
  BatchAnswers answers{};      // one for each piece
  std::size_t unanswered = 0;  // pieces; 0: it has ended
};

/// Guarded by the batcher's mutex, but for the bytes of its memory: those of a row are its request's.
struct GatheredBatch {
  BatchLayout layout;
  std::shared_ptr<BatchMemory> memory;
  std::uint64_t rows = 0;  // reserved
  std::uint64_t texts_used = 0;
  std::uint64_t writers = 0;
  int priority = 0;
  std::uint64_t number = 0;  // in the order in which batches were begun
  // Committed: the request, and which of its pieces lies here.
  std::vector<std::pair<std::shared_ptr<BatchedRequest>, std::size_t>> parts{};

  std::byte* row(std::size_t input, std::uint64_t at) const {
    return memory->bytes().data() + layout.offset(input) + at * layout.row_bytes(input);
  }
  void clear(std::size_t input, std::uint64_t first, std::uint64_t count) const;
  /// Fills up to `filled_rows` with copies of the first row.
  void fill_up(std::uint64_t filled_rows) const;
  /// Takes over the rows of a piece of another batch, and the last `texts_bytes` of its texts. REQUIRES: it
  /// has no rows yet, and room for them; the piece names the other batch
  void copy_piece(const BatchedPiece& piece, std::uint64_t texts_bytes);
};

}  // namespace headrace
