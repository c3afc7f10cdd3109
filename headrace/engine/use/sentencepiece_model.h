#pragma once

/// \file The parts of a SentencePiece model file that a unigram tokenizer needs (sentencepiece_model.proto,
/// message ModelProto, read from the wire without protobuf). The bytes are not trusted.

#include <cstdint>
#include <string>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

struct SentencePieceModel {
  struct Piece {
    std::string text;  // valid UTF-8, not empty
    float score = 0;   // log probability
  };
  std::vector<Piece> pieces;  // by id
  Bytes character_map;        // normalizer_spec.precompiled_charsmap; may be empty
};

/// DATA_LOSS with the offset if malformed; UNIMPLEMENTED for a model that is not a unigram model, or one
/// whose normaliser does not add a dummy prefix, remove extra white space and escape white space. Unknown
/// fields are skipped. Time and memory linear in the file's size.
Result<SentencePieceModel> parse_sentencepiece_model(BytesView file);

}  // namespace headrace
