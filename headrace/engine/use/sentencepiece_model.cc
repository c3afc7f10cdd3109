#include "headrace/engine/use/sentencepiece_model.h"

#include <cmath>

#include "headrace/base/text.h"
#include "headrace/base/wire.h"

namespace headrace {
namespace {

// Calls `visit` with each field of a message that lies in `file`.
template <typename Visit>
Status for_each_field(BytesView file, BytesView message, const Visit& visit) {
  WireReader reader(message);
  for (WireField field; reader.next(field);) HEADRACE_CHECK(visit(field));
  if (!reader.malformed()) return {};
  const auto offset = static_cast<std::size_t>(message.data() - file.data()) + reader.position();
  return Error{Code::kDataLoss, concat("malformed SentencePiece model at offset ", offset)};
}

Status read_piece(BytesView file, BytesView message, SentencePieceModel& model) {
  SentencePieceModel::Piece piece;
  HEADRACE_CHECK(for_each_field(file, message, [&](const WireField& field) -> Status {
    if (field.number == 1 && field.type == WireType::kBytes) piece.text = field.as_text();
    if (field.number == 2 && field.type == WireType::kFixed32) piece.score = field.as_float();
    return {};
  }));
  if (piece.text.empty() || !is_valid_utf8(piece.text) || !std::isfinite(piece.score)) {
    return Error{Code::kDataLoss, concat("SentencePiece model: piece ", model.pieces.size(), " at offset ",
                                         message.data() - file.data(), " has no valid text or score")};
  }
  model.pieces.push_back(std::move(piece));
  return {};
}

Status read_trainer_spec(BytesView file, BytesView message) {
  constexpr std::uint32_t kModelType = 3, kUnigram = 1;
  return for_each_field(file, message, [](const WireField& field) -> Status {
    if (field.number != kModelType || (field.type == WireType::kVarint && field.value == kUnigram)) return {};
    return Error{Code::kUnimplemented, "SentencePiece model: only unigram models are supported"};
  });
}

Status read_normalizer_spec(BytesView file, BytesView message, SentencePieceModel& model) {
  constexpr std::uint32_t kCharacterMap = 2, kAddDummyPrefix = 3, kEscapeWhitespaces = 5;
  return for_each_field(file, message, [&](const WireField& field) -> Status {
    if (field.number == kCharacterMap && field.type == WireType::kBytes)
      model.character_map.assign(field.bytes.begin(), field.bytes.end());
    const bool is_rule = field.number >= kAddDummyPrefix && field.number <= kEscapeWhitespaces;
    if (!is_rule || (field.type == WireType::kVarint && field.value != 0)) return {};
    return Error{Code::kUnimplemented, "SentencePiece model: its white space rules are not supported"};
  });
}

}  // namespace

Result<SentencePieceModel> parse_sentencepiece_model(BytesView file) {
  SentencePieceModel model;
  HEADRACE_CHECK(for_each_field(file, file, [&](const WireField& field) -> Status {
    if (field.type != WireType::kBytes) return {};
    if (field.number == 1) return read_piece(file, field.bytes, model);
    if (field.number == 2) return read_trainer_spec(file, field.bytes);
    if (field.number == 3) return read_normalizer_spec(file, field.bytes, model);
    return {};
  }));
  if (model.pieces.empty()) return Error{Code::kDataLoss, "SentencePiece model: it has no pieces"};
  return model;
}

}  // namespace headrace
