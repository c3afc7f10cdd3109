#include "headrace/metrics/pieces.h"

#include <algorithm>
#include <bit>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/base/wire.h"
#include "headrace/codec/zstandard.h"

namespace headrace {

namespace {

constexpr std::size_t kSmallestCompressed = 32;

// Differences wrap around, as the format says.
std::int64_t minus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

std::int64_t plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

bool is_exact_float(double value) {
  return std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<float>(value))) ==
         std::bit_cast<std::uint64_t>(value);
}

template <typename Bits>
Bits bits_of(double value) {
  if constexpr (sizeof(Bits) == 4) {
    return std::bit_cast<Bits>(static_cast<float>(value));
  } else {
    return std::bit_cast<Bits>(value);
  }
}

template <typename Bits>
double value_of(Bits bits) {
  if constexpr (sizeof(Bits) == 4) {
    return static_cast<double>(std::bit_cast<float>(bits));
  } else {
    return std::bit_cast<double>(bits);
  }
}

template <typename Bits>
Bytes to_planes(std::span<const double> values) {
  const std::size_t count = values.size();
  Bytes out(count * sizeof(Bits));
  Bits before = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Bits bits = bits_of<Bits>(values[i]);
    const Bits change = bits ^ before;
    before = bits;
    for (std::size_t plane = 0; plane < sizeof(Bits); ++plane)
      out[plane * count + i] = static_cast<std::byte>(change >> (8 * plane));
  }
  return out;
}

template <typename Bits>
std::vector<double> from_planes(BytesView data) {
  const std::size_t count = data.size() / sizeof(Bits);
  std::vector<double> values(count);
  Bits bits = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Bits change = 0;
    for (std::size_t plane = 0; plane < sizeof(Bits); ++plane)
      change |= static_cast<Bits>(std::to_integer<Bits>(data[plane * count + i]) << (8 * plane));
    bits ^= change;
    values[i] = value_of(bits);
  }
  return values;
}

}  // namespace

Bytes encode_integers(std::span<const std::int64_t> numbers) {
  Bytes out;
  out.reserve(numbers.size() + 10);
  std::int64_t before = 0;
  std::int64_t step_before = 0;
  for (const std::int64_t number : numbers) {
    const std::int64_t step = minus(number, before);
    append_varint(out, zigzag(minus(step, step_before)));
    before = number;
    step_before = step;
  }
  return out;
}

Result<std::vector<std::int64_t>> decode_integers(BytesView data, std::size_t count) {
  std::vector<std::int64_t> numbers(count);
  std::size_t position = 0;
  std::int64_t before = 0;
  std::int64_t step = 0;
  for (std::int64_t& number : numbers) {
    std::uint64_t varint = 0;
    if (!read_varint(data, position, varint)) return Error{Code::kDataLoss, "a column of numbers is cut off"};
    step = plus(step, unzigzag(varint));
    before = number = plus(before, step);
  }
  if (position != data.size()) return Error{Code::kDataLoss, "a column has more numbers than its points"};
  return numbers;
}

std::size_t width_of_values(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), is_exact_float) ? 4 : 8;
}

Bytes encode_values(std::span<const double> values, std::size_t width) {
  return width == 4 ? to_planes<std::uint32_t>(values) : to_planes<std::uint64_t>(values);
}

std::vector<double> decode_values(BytesView data, std::size_t width) {
  return width == 4 ? from_planes<std::uint32_t>(data) : from_planes<std::uint64_t>(data);
}

SegmentPiece append_piece(Bytes& segment, BytesView raw) {
  SegmentPiece piece{.offset = segment.size(), .size = raw.size()};
  Bytes compressed;
  if (raw.size() >= kSmallestCompressed) compressed = compress_zstandard(raw);
  BytesView stored = raw;
  if (!compressed.empty() && compressed.size() < raw.size()) {
    stored = compressed;
    piece.raw_size = raw.size();
    piece.size = compressed.size();
  }
  piece.crc32c = crc32c(stored);
  append(segment, stored);
  return piece;
}

ReadSegment read_from(BytesView segment) {
  return [segment](std::uint64_t offset, std::uint64_t size) -> Result<Bytes> {
    if (offset > segment.size() || size > segment.size() - offset)
      return Error{Code::kOutOfRange, concat(size, " bytes at offset ", offset, " of ", segment.size())};
    const BytesView bytes = segment.subspan(offset, size);
    return Bytes(bytes.begin(), bytes.end());
  };
}

Result<Bytes> read_piece(const ReadSegment& read, const SegmentPiece& piece, std::uint64_t most_bytes) {
  const std::uint64_t size = piece.raw_size == 0 ? piece.size : piece.raw_size;
  if (size > most_bytes || piece.size > size)
    return Error{Code::kDataLoss, concat("a piece of ", size, " bytes at offset ", piece.offset,
                                         ", where at most ", most_bytes, " can be")};
  HEADRACE_TRY(Bytes stored, read(piece.offset, piece.size));
  if (stored.size() != piece.size || crc32c(stored) != piece.crc32c)
    return Error{Code::kDataLoss,
                 concat("wrong checksum of the ", piece.size, " bytes at offset ", piece.offset)};
  if (piece.raw_size == 0) return stored;
  return decompress_zstandard(stored, piece.raw_size);
}

}  // namespace headrace
