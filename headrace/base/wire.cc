#include "headrace/base/wire.h"

#include <array>

namespace headrace {
namespace {

constexpr std::uint32_t kStartGroup = 3;
constexpr std::uint32_t kEndGroup = 4;
constexpr std::size_t kMaxGroupDepth = 32;
constexpr std::uint64_t kMaxTag = 0xffffffffU;

}  // namespace

bool read_varint(BytesView bytes, std::size_t& position, std::uint64_t& value) {
  std::uint64_t result = 0;
  std::size_t at = position;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (at == bytes.size()) return false;
    const auto byte = std::to_integer<std::uint64_t>(bytes[at++]);
    if (shift < 64) result |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      position = at;
      value = result;
      return true;
    }
  }
  return false;
}

bool WireReader::next_any(WireField& field) {
  while (!malformed_ && position_ < message_.size()) {
    const std::size_t start = position_;
    std::uint32_t wire_type = 0;
    const bool sound = read_field(field, wire_type) && wire_type != kEndGroup &&
                       (wire_type != kStartGroup || skip_group(field.number));
    if (!sound) {
      position_ = start;
      malformed_ = true;
    } else if (wire_type != kStartGroup) {
      return true;
    }
  }
  return false;
}

// Reads a tag. Reads the field's content, too, unless the tag opens or closes a group.
bool WireReader::read_field(WireField& field, std::uint32_t& wire_type) {
  std::uint64_t tag = 0;
  if (!read_varint(message_, position_, tag) || tag > kMaxTag || (tag >> 3) == 0) return false;
  wire_type = static_cast<std::uint32_t>(tag & 7);
  field.number = static_cast<std::uint32_t>(tag >> 3);
  field.type = static_cast<WireType>(wire_type);
  const auto remaining = [this] { return message_.size() - position_; };
  switch (wire_type) {
    case static_cast<std::uint32_t>(WireType::kVarint):
      return read_varint(message_, position_, field.value);
    case static_cast<std::uint32_t>(WireType::kFixed64):
      if (remaining() < 8) return false;
      field.value = load_little_endian<std::uint64_t>(message_.data() + position_);
      position_ += 8;
      return true;
    case static_cast<std::uint32_t>(WireType::kFixed32):
      if (remaining() < 4) return false;
      field.value = load_little_endian<std::uint32_t>(message_.data() + position_);
      position_ += 4;
      return true;
    case static_cast<std::uint32_t>(WireType::kBytes): {
      std::uint64_t length = 0;
      if (!read_varint(message_, position_, length) || length > remaining()) return false;
      field.bytes = message_.subspan(position_, length);
      position_ += length;
      return true;
    }
    default:
      return wire_type == kStartGroup || wire_type == kEndGroup;
  }
}

bool WireReader::skip_group(std::uint32_t number) {
  std::array<std::uint32_t, kMaxGroupDepth> open{};
  std::size_t depth = 0;
  open[depth++] = number;
  while (depth > 0) {
    WireField inner;
    std::uint32_t wire_type = 0;
    if (!read_field(inner, wire_type)) return false;
    if (wire_type == kStartGroup) {
      if (depth == kMaxGroupDepth) return false;
      open[depth++] = inner.number;
    } else if (wire_type == kEndGroup && open[--depth] != inner.number) {
      return false;
    }
  }
  return true;
}

void append_varint(Bytes& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::byte>(value | 0x80));
  out.push_back(static_cast<std::byte>(value));
}

void WireWriter::tag(std::uint32_t number, WireType type) {
  append_varint(out_, std::uint64_t{number} << 3 | static_cast<std::uint64_t>(type));
}

void WireWriter::varint(std::uint32_t number, std::uint64_t value) {
  tag(number, WireType::kVarint);
  append_varint(out_, value);
}

void WireWriter::fixed32(std::uint32_t number, float value) {
  tag(number, WireType::kFixed32);
  append_little_endian(out_, value);
}

void WireWriter::fixed64(std::uint32_t number, double value) {
  tag(number, WireType::kFixed64);
  append_little_endian(out_, value);
}

void WireWriter::bytes(std::uint32_t number, BytesView value) {
  tag(number, WireType::kBytes);
  append_varint(out_, value.size());
  append(out_, value);
}

void WireWriter::end_message(std::size_t start) {
  std::uint64_t size = out_.size() - start - 1;
  out_.insert(out_.begin() + static_cast<std::ptrdiff_t>(start), varint_size(size) - 1, std::byte{});
  for (; size >= 0x80; size >>= 7) out_[start++] = static_cast<std::byte>(size | 0x80);
  out_[start] = static_cast<std::byte>(size);
}

}  // namespace headrace
