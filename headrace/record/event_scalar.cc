#include "headrace/record/event_scalar.h"

#include "headrace/base/wire.h"
#include "headrace/record/event_wire.h"

namespace headrace {
namespace {

constexpr std::byte tag_byte(std::uint32_t field, WireType type) {
  return static_cast<std::byte>(field << 3 | static_cast<std::uint32_t>(type));
}

constexpr std::byte kWallTimeTag = tag_byte(event_field::kWallTime, WireType::kFixed64);
constexpr std::byte kStepTag = tag_byte(event_field::kStep, WireType::kVarint);
constexpr std::byte kSummaryTag = tag_byte(event_field::kSummary, WireType::kBytes);
constexpr std::byte kValueTag = tag_byte(kSummaryValue, WireType::kBytes);
constexpr std::byte kNameTag = tag_byte(value_field::kTag, WireType::kBytes);
constexpr std::byte kSimpleValueTag = tag_byte(value_field::kSimpleValue, WireType::kFixed32);
// A tensor of twelve bytes, which ends with the number. In the bytes before the number, only the field of the
// elements varies.
constexpr std::uint64_t kTensorStart = 0x0012'0108'0a42;  // tag, size, dtype float, empty shape
constexpr std::size_t kTensorStartBytes = 6;
constexpr std::size_t kTensorBytes = 12;
constexpr std::byte kFloatValTag = tag_byte(tensor_field::kFloatVal, WireType::kBytes);
constexpr std::byte kContentTag = tag_byte(tensor_field::kContent, WireType::kBytes);

}  // namespace

bool parse_scalar_event(BytesView record, ScalarEvent& out) {
  constexpr std::size_t kShortest = 9 + 2 + 2 + 2 + 5;
  if (record.size() < kShortest || record[0] != kWallTimeTag) return false;
  out.wall_time_s = load_little_endian<double>(record.data() + 1);
  std::size_t at = 9;
  out.step = 0;
  if (record[at] == kStepTag) {
    std::uint64_t step = 0;
    if (!read_varint(record, ++at, step)) return false;
    out.step = static_cast<std::int64_t>(step);
  }
  // Enters a nested message. It must extend to the end of the record.
  const auto opens_rest = [&](std::byte tag) {
    const bool fits = record.size() - at >= 2 && record[at] == tag && record[at + 1] < std::byte{0x80} &&
                      std::to_integer<std::size_t>(record[at + 1]) == record.size() - at - 2;
    at += 2;
    return fits;
  };
  if (!opens_rest(kSummaryTag) || !opens_rest(kValueTag)) return false;
  if (record.size() - at < 2 || record[at] != kNameTag || record[at + 1] >= std::byte{0x80}) return false;
  const auto length = std::to_integer<std::size_t>(record[at + 1]);
  at += 2;
  if (record.size() - at < length || length == 0) return false;
  out.tag = as_text(record.subspan(at, length));
  at += length;
  const std::size_t left = record.size() - at;
  if (left == 5 && record[at] == kSimpleValueTag) {
    out.value = load_little_endian<float>(record.data() + at + 1);
    return true;
  }
  if (left != kTensorBytes) return false;
  std::uint64_t start = load_little_endian<std::uint64_t>(record.data() + at);
  start &= (std::uint64_t{1} << (8 * kTensorStartBytes)) - 1;
  const std::byte elements = record[at + kTensorStartBytes];
  if (start != kTensorStart || (elements != kFloatValTag && elements != kContentTag)) return false;
  if (record[at + kTensorStartBytes + 1] != std::byte{4}) return false;
  out.value = load_little_endian<float>(record.data() + at + kTensorStartBytes + 2);
  return true;
}

}  // namespace headrace
