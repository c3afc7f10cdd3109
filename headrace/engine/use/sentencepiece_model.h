#pragma once

/// \file Reads the parts of a SentencePiece model file that a unigram tokenizer needs. Source of the format:
/// sentencepiece_model.proto, message ModelProto. The bytes are not trusted.

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

/// Parses a model file. Skips unknown fields. Time and memory: linear in the file's size.
/// \error kDataLoss       malformed (the message names the offset), or there are no pieces
/// \error kUnimplemented  not a unigram model, or its normaliser does not add a dummy prefix, remove extra
///                        white space and escape white space
Result<SentencePieceModel> parse_sentencepiece_model(BytesView file);

}  // namespace headrace
