#pragma once

/// \file The protobuf wire format: a bounded reader and a writer for the few messages that Headrace handles
/// (tf.Example, events, SavedModel, ModelProto). They need no descriptor and make no object per message.
/// Source of the encoding: protobuf.dev/programming-guides/encoding.

#include <bit>
#include <cstdint>
#include <string_view>

#include "headrace/base/bytes.h"

namespace headrace {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

/// One field of a message. For WireType::kBytes, `bytes` views the reader's input. For the other three types,
/// `value` holds the number's bits (a negative int32 or int64 arrives in two's complement, 64 bits wide).
struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t value = 0;
  BytesView bytes;

  std::int64_t as_int64() const { return static_cast<std::int64_t>(value); }
  double as_double() const { return std::bit_cast<double>(value); }
  float as_float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(value)); }
  std::string_view as_text() const { return headrace::as_text(bytes); }
};

/// Reads a varint at `position` and moves `position` past it. Drops bits beyond the 64th, as protobuf does.
/// Returns false, and leaves `position` unchanged, if the bytes end inside the varint or the varint is longer
/// than ten bytes.
bool read_varint(BytesView bytes, std::size_t& position, std::uint64_t& value);

/// Walks the fields of one message in stored order. Allocates nothing, copies nothing, and reads only inside
/// `message`, which must outlive the reader and the fields that it yields. Skips groups, which proto3 does
/// not write, to a depth of 32; deeper groups are malformed.
///
///   WireReader reader(message);
///   for (WireField field; reader.next(field);) if (field.number == 1) name = field.as_text();
///   if (reader.malformed()) return Error{...};
class WireReader {
 public:
  explicit WireReader(BytesView message) : message_(message) {}

  /// True with the next field; false at the end of the message and at the first malformed byte.
  bool next(WireField& field) {
    return next_short(field) || (position_ < message_.size() && next_any(field));
  }
  bool malformed() const { return malformed_; }
  /// Where the next field or the malformed field begins, in bytes from the start of the message.
  std::size_t position() const { return position_; }

 private:
  /// Reads a field in the common case, which is inlined: the tag takes one byte, a varint one, a length one
  /// or two. Returns false in every other case; the reader has not moved then.
  bool next_short(WireField& field) {
    const std::size_t remaining = message_.size() - position_;
    if (remaining < 2 || malformed_) return false;
    const std::byte* const at = message_.data() + position_;
    const auto tag = std::to_integer<std::uint32_t>(at[0]);
    const auto second = std::to_integer<std::uint32_t>(at[1]);
    if (tag < 8 || tag >= 0x80) return false;
    const auto type = static_cast<WireType>(tag & 7);
    std::size_t size = 2;
    if (type == WireType::kVarint && second < 0x80) {
      field.value = second;
    } else if (type == WireType::kBytes && second < 0x80 && second <= remaining - 2) {
      field.bytes = {at + 2, second};
      size += second;
    } else if (type == WireType::kBytes && second >= 0x80 && remaining >= 3) {
      const auto third = std::to_integer<std::uint32_t>(at[2]);
      const std::uint32_t length = (second & 0x7f) | third << 7;
      if (third >= 0x80 || length > remaining - 3) return false;
      field.bytes = {at + 3, length};
      size = 3 + length;
    } else if (type == WireType::kFixed32 && remaining >= 5) {
      field.value = load_little_endian<std::uint32_t>(at + 1);
      size = 5;
    } else if (type == WireType::kFixed64 && remaining >= 9) {
      field.value = load_little_endian<std::uint64_t>(at + 1);
      size = 9;
    } else {
      return false;
    }
    field.number = tag >> 3;
    field.type = type;
    position_ += size;
    return true;
  }
  bool next_any(WireField& field);
  bool read_field(WireField& field, std::uint32_t& wire_type);
  bool skip_group(std::uint32_t number);

  BytesView message_;
  std::size_t position_ = 0;
  bool malformed_ = false;
};

/// Number of bytes of `value` as a varint: 1 to 10.
inline std::size_t varint_size(std::uint64_t value) {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}
void append_varint(Bytes& out, std::uint64_t value);
/// Maps small magnitudes of either sign to small numbers: 0, -1, 1, -2 … become 0, 1, 2, 3 …
constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

/// Appends fields to `out`, which must outlive the writer, in the order of the calls. Writes a field even if
/// its value is zero.
class WireWriter {
 public:
  explicit WireWriter(Bytes& out) : out_(out) {}

  void tag(std::uint32_t number, WireType type);
  void varint(std::uint32_t number, std::uint64_t value);
  void fixed32(std::uint32_t number, float value);
  void fixed64(std::uint32_t number, double value);
  void bytes(std::uint32_t number, BytesView value);
  void text(std::uint32_t number, std::string_view value) { bytes(number, as_bytes(value)); }

  /// Writes a nested message, whose content `write(WireWriter&)` writes in place. Allocates only room in
  /// `out`. Content of 128 bytes or more is copied once more, because its length needs more than the one byte
  /// reserved for it.
  template <typename Write>
  void message(std::uint32_t number, Write&& write) {
    tag(number, WireType::kBytes);
    const std::size_t start = out_.size();
    out_.push_back(std::byte{});
    write(*this);
    end_message(start);
  }

 private:
  /// Writes the message's length. `start` is the position of the byte reserved for it, right before the
  /// content.
  void end_message(std::size_t start);

  Bytes& out_;
};

}  // namespace headrace
