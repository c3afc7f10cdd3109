#pragma once

/// \file The protobuf wire format: a bounded reader and a writer for the few messages that Headrace handles
/// (tf.Example, events, SavedModel, ModelProto). No descriptor, no object per message.
/// Source of the encoding: protobuf.dev/programming-guides/encoding.

#include <bit>
#include <cstdint>
#include <string_view>

#include "headrace/base/bytes.h"

namespace headrace {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

/// One field of a message. `bytes` views the reader's input; `value` holds the number of the other three
/// types (a negative int32 or int64 arrives in two's complement, 64 bits wide).
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

/// Reads a varint at `position` and moves past it. Returns false, and leaves `position`, if the bytes end
/// first or it is longer than ten bytes; bits beyond the 64th are dropped, as protobuf does.
bool read_varint(BytesView bytes, std::size_t& position, std::uint64_t& value);

/// Walks the fields of one message in the order in which they lie. Allocates nothing, copies nothing, reads
/// only inside `message`, which must outlive it and the fields it yields. Groups (a type that proto3 does not
/// write) are stepped over, to a depth of 32.
///
///   WireReader reader(message);
///   for (WireField field; reader.next(field);) if (field.number == 1) name = field.as_text();
///   if (reader.malformed()) return Error{...};
class WireReader {
 public:
  explicit WireReader(BytesView message) : message_(message) {}

  /// True with the next field; false at the end of the message and at the first malformed byte.
  bool next(WireField& field);
  bool malformed() const { return malformed_; }
  /// Where the next field begins, or where the malformed one does. In bytes from the start of the message.
  std::size_t position() const { return position_; }

 private:
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
/// Small magnitudes of either sign become small numbers: 0, -1, 1, -2 … are 0, 1, 2, 3 …
constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

/// Appends fields to `out`, which must outlive it. What is written is in the order of the calls; nothing is
/// left out for being zero.
class WireWriter {
 public:
  explicit WireWriter(Bytes& out) : out_(out) {}

  void tag(std::uint32_t number, WireType type);
  void varint(std::uint32_t number, std::uint64_t value);
  void fixed32(std::uint32_t number, float value);
  void fixed64(std::uint32_t number, double value);
  void bytes(std::uint32_t number, BytesView value);
  void text(std::uint32_t number, std::string_view value) { bytes(number, as_bytes(value)); }

  /// A nested message, written by `write(WireWriter&)`. Costs one more copy of its content.
  template <typename Write>
  void message(std::uint32_t number, Write&& write) {
    Bytes content;
    WireWriter nested(content);
    write(nested);
    bytes(number, content);
  }

 private:
  Bytes& out_;
};

}  // namespace headrace
