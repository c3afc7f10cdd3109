#pragma once

/// \file A batch that is being gathered, and the requests whose rows it holds. Part of batcher.h.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "headrace/serve/batch/batcher.h"

namespace headrace {

struct GatheredBatch;

/// The part of a request that lies in one batch.
struct BatchedPiece {
  std::shared_ptr<GatheredBatch> batch;
  std::uint64_t first_in_request = 0;
  std::uint64_t first_row = 0;  // in the batch
  std::uint64_t rows = 0;
  std::uint64_t texts_next = 0;  // where the next text goes: offset in the texts of the batch
  std::uint64_t texts_end = 0;
};

struct BatchedRequest {
  RequestOptions options;
  std::vector<BatchedPiece> pieces{};
  AnswerDone done{};
  BatchAnswers answers{};      // one for each piece
  std::size_t unanswered = 0;  // number of pieces without an answer; 0: the request has ended
};

/// Guarded by the batcher's mutex, except for the bytes of rows: only the request of a row writes to them.
struct GatheredBatch {
  BatchLayout layout;
  std::shared_ptr<BatchMemory> memory;
  std::uint64_t rows = 0;  // reserved
  std::uint64_t texts_used = 0;
  std::uint64_t writers = 0;
  int priority = 0;
  std::uint64_t number = 0;  // counts batches in the order in which they were opened
  // The committed requests, each with the index of its piece that lies here.
  std::vector<std::pair<std::shared_ptr<BatchedRequest>, std::size_t>> parts{};

  std::byte* row(std::size_t input, std::uint64_t at) const {
    return memory->bytes().data() + layout.offset(input) + at * layout.row_bytes(input);
  }
  /// Sets `count` rows of an input to zero.
  void clear(std::size_t input, std::uint64_t first, std::uint64_t count) const;
  /// Pads the batch to `filled_rows` rows with copies of the first row.
  void fill_up(std::uint64_t filled_rows) const;
  /// Copies the rows of a piece from another batch, and the last `texts_bytes` bytes of the piece's texts.
  /// REQUIRES: this batch has no rows yet, and room for these; `piece.batch` is the other batch
  void copy_piece(const BatchedPiece& piece, std::uint64_t texts_bytes);
};

}  // namespace headrace
