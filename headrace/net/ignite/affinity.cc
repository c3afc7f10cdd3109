#include "headrace/net/ignite/affinity.h"

#include <bit>
#include <cmath>

#include "headrace/net/ignite/message.h"

namespace headrace::ignite {
namespace {

std::int32_t fold(std::uint64_t value) { return static_cast<std::int32_t>(value ^ (value >> 32)); }

template <typename T>
std::optional<T> number_at(ObjectCursor& cursor) {
  T value{};
  if (!cursor.read(value)) return std::nullopt;
  return value;
}

template <typename T>
std::optional<std::int32_t> small_number(ObjectCursor& cursor) {
  const std::optional<T> value = number_at<T>(cursor);
  if (!value) return std::nullopt;
  return static_cast<std::int32_t>(*value);
}

// Java uses one bit pattern for all NaNs here.
std::optional<std::int32_t> floating_hash(ObjectCursor& cursor, bool is_double) {
  if (is_double) {
    const std::optional<double> value = number_at<double>(cursor);
    if (!value) return std::nullopt;
    return fold(std::isnan(*value) ? 0x7ff8000000000000U : std::bit_cast<std::uint64_t>(*value));
  }
  const std::optional<float> value = number_at<float>(cursor);
  if (!value) return std::nullopt;
  return std::isnan(*value) ? 0x7fc00000 : std::bit_cast<std::int32_t>(*value);
}

std::optional<std::int32_t> bytes_hash(ObjectCursor& cursor) {
  BytesView content;
  if (!cursor.take_counted(content)) return std::nullopt;
  std::uint32_t hash = 1;
  for (const std::byte value : content)
    hash = 31 * hash + static_cast<std::uint32_t>(static_cast<std::int8_t>(value));
  return static_cast<std::int32_t>(hash);
}

// The header of a complex object contains its hash.
std::optional<std::int32_t> complex_hash(BytesView object) {
  if (object.size() < kHeaderBytes || object.front() != static_cast<std::byte>(TypeCode::kComplex))
    return std::nullopt;
  return load_little_endian<std::int32_t>(object.data() + kHashCodeOffset);
}

// The hash of a complex object that is wrapped in bytes. The offset of the object follows the bytes.
std::optional<std::int32_t> wrapped_hash(ObjectCursor& cursor) {
  BytesView content;
  std::uint32_t offset = 0;
  if (!cursor.take_counted(content) || !cursor.read(offset) || offset > content.size()) return std::nullopt;
  return complex_hash(content.subspan(offset));
}

}  // namespace

std::optional<std::int32_t> key_hash(BytesView key) {
  ObjectCursor cursor(key);
  TypeCode code{};
  if (!cursor.read(code)) return std::nullopt;
  switch (code) {
    case TypeCode::kByte:
      return small_number<std::int8_t>(cursor);
    case TypeCode::kShort:
      return small_number<std::int16_t>(cursor);
    case TypeCode::kChar:
      return small_number<std::uint16_t>(cursor);
    case TypeCode::kInt:
      return small_number<std::int32_t>(cursor);
    case TypeCode::kBool: {
      const std::optional<std::uint8_t> value = number_at<std::uint8_t>(cursor);
      if (!value) return std::nullopt;
      return *value != 0 ? 1231 : 1237;
    }
    case TypeCode::kLong: {
      const std::optional<std::uint64_t> value = number_at<std::uint64_t>(cursor);
      if (!value) return std::nullopt;
      return fold(*value);
    }
    case TypeCode::kFloat:
    case TypeCode::kDouble:
      return floating_hash(cursor, code == TypeCode::kDouble);
    case TypeCode::kString: {
      BytesView text;
      if (!cursor.take_counted(text)) return std::nullopt;
      return java_hash(as_text(text));
    }
    case TypeCode::kUuid: {
      std::uint64_t high = 0, low = 0;
      if (!cursor.read(high) || !cursor.read(low)) return std::nullopt;
      return fold(high ^ low);
    }
    case TypeCode::kByteArray:
      return bytes_hash(cursor);
    case TypeCode::kComplex:
      return complex_hash(key);
    case TypeCode::kWrapped:
      return wrapped_hash(cursor);
    default:
      return std::nullopt;
  }
}

std::int32_t partition_of_hash(std::int32_t hash, std::int32_t partitions) {
  const auto bits = static_cast<std::uint32_t>(hash);
  const auto count = static_cast<std::uint32_t>(partitions);
  if (std::has_single_bit(count)) return static_cast<std::int32_t>((bits ^ (bits >> 16)) & (count - 1));
  return std::abs(hash % partitions);
}

}  // namespace headrace::ignite
