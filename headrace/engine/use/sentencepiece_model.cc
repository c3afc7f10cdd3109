#include "headrace/engine/use/sentencepiece_model.h"

#include <bit>
#include <cmath>

#include "headrace/base/text.h"

namespace headrace {
namespace {

// A protobuf message's fields one after another (protobuf.dev, "Encoding").
class FieldReader {
 public:
  FieldReader(BytesView message, std::size_t file_offset) : message_(message), file_offset_(file_offset) {}

  struct Field {
    std::uint64_t number = 0;
    std::uint64_t integer = 0;  // varint and fixed
    BytesView bytes;            // length-delimited
    std::size_t file_offset = 0;
  };
  bool at_end() const { return position_ == message_.size(); }

  Result<Field> next() {
    Field field;
    HEADRACE_TRY(const std::uint64_t tag, varint());
    field.number = tag >> 3;
    switch (tag & 7) {
      case 0: {
        HEADRACE_TRY(field.integer, varint());
        return field;
      }
      case 1:
        return fixed(field, 8);
      case 5:
        return fixed(field, 4);
      case 2: {
        HEADRACE_TRY(const std::uint64_t size, varint());
        field.file_offset = file_offset_ + position_;
        HEADRACE_TRY(field.bytes, take(size));
        return field;
      }
      default:
        return malformed();
    }
  }

 private:
  Error malformed() const {
    return {Code::kDataLoss, concat("malformed SentencePiece model at offset ", file_offset_ + position_)};
  }
  Result<BytesView> take(std::uint64_t size) {
    if (size > message_.size() - position_) return malformed();
    position_ += size;
    return message_.subspan(position_ - size, size);
  }
  Result<Field> fixed(Field field, std::size_t size) {
    HEADRACE_TRY(const BytesView bytes, take(size));
    std::memcpy(&field.integer, bytes.data(), size);
    return field;
  }
  Result<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && position_ < message_.size(); shift += 7) {
      const auto byte = std::to_integer<std::uint64_t>(message_[position_++]);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return malformed();
  }

  BytesView message_;
  std::size_t file_offset_;
  std::size_t position_ = 0;
};

Status read_piece(FieldReader reader, std::size_t file_offset, SentencePieceModel& model) {
  SentencePieceModel::Piece piece;
  while (!reader.at_end()) {
    HEADRACE_TRY(const auto field, reader.next());
    if (field.number == 1) piece.text = to_string(field.bytes);
    if (field.number == 2) piece.score = std::bit_cast<float>(static_cast<std::uint32_t>(field.integer));
  }
  if (piece.text.empty() || !is_valid_utf8(piece.text) || !std::isfinite(piece.score)) {
    return Error{Code::kDataLoss, concat("SentencePiece model: piece ", model.pieces.size(), " at offset ",
                                         file_offset, " has no valid text or score")};
  }
  model.pieces.push_back(std::move(piece));
  return {};
}

Status read_trainer_spec(FieldReader reader) {
  constexpr std::uint64_t kModelType = 3, kUnigram = 1;
  while (!reader.at_end()) {
    HEADRACE_TRY(const auto field, reader.next());
    if (field.number == kModelType && field.integer != kUnigram) {
      return Error{Code::kUnimplemented, "SentencePiece model: only unigram models are supported"};
    }
  }
  return {};
}

Status read_normalizer_spec(FieldReader reader, SentencePieceModel& model) {
  constexpr std::uint64_t kCharacterMap = 2, kAddDummyPrefix = 3, kEscapeWhitespaces = 5;
  while (!reader.at_end()) {
    HEADRACE_TRY(const auto field, reader.next());
    if (field.number == kCharacterMap) model.character_map.assign(field.bytes.begin(), field.bytes.end());
    if (field.number >= kAddDummyPrefix && field.number <= kEscapeWhitespaces && field.integer == 0) {
      return Error{Code::kUnimplemented, "SentencePiece model: its white space rules are not supported"};
    }
  }
  return {};
}

}  // namespace

Result<SentencePieceModel> parse_sentencepiece_model(BytesView file) {
  SentencePieceModel model;
  FieldReader reader(file, 0);
  while (!reader.at_end()) {
    HEADRACE_TRY(const auto field, reader.next());
    const FieldReader message(field.bytes, field.file_offset);
    if (field.number == 1) HEADRACE_CHECK(read_piece(message, field.file_offset, model));
    if (field.number == 2) HEADRACE_CHECK(read_trainer_spec(message));
    if (field.number == 3) HEADRACE_CHECK(read_normalizer_spec(message, model));
  }
  if (model.pieces.empty()) return Error{Code::kDataLoss, "SentencePiece model: no pieces in it"};
  return model;
}

}  // namespace headrace
