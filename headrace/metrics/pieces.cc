#include "headrace/metrics/pieces.h"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <utility>

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

// Where the planes of values begin: one for each of the 8 bytes, or for only the first 4.
using Planes = std::array<const std::byte*, 8>;

template <typename Bits, std::size_t... kPlanes>
Bits from_bytes(const Planes& planes, std::size_t i, std::index_sequence<kPlanes...>) {
  return static_cast<Bits>(((std::to_integer<Bits>(planes[kPlanes][i]) << (8 * kPlanes)) | ...));
}

// In three loops, so that compilers vectorize the first and the last.
template <typename Bits>
void from_planes(const Planes& all, std::span<double> values) {
  std::array<Bits, 256> changes;
  Bits bits = 0;
  for (std::size_t begin = 0; begin < values.size(); begin += changes.size()) {
    const std::size_t some = std::min(changes.size(), values.size() - begin);
    Planes planes{};
    for (std::size_t plane = 0; plane < sizeof(Bits); ++plane) planes[plane] = all[plane] + begin;
    for (std::size_t i = 0; i < some; ++i)
      changes[i] = from_bytes<Bits>(planes, i, std::make_index_sequence<sizeof(Bits)>());
    for (std::size_t i = 0; i < some; ++i) changes[i] = bits ^= changes[i];
    for (std::size_t i = 0; i < some; ++i) values[begin + i] = value_of(changes[i]);
  }
}

void from_planes(const Planes& planes, std::size_t width, std::span<double> values) {
  return width == 4 ? from_planes<std::uint32_t>(planes, values) : from_planes<std::uint64_t>(planes, values);
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

void decode_values(BytesView data, std::size_t width, std::vector<double>& values) {
  values.resize(data.size() / width);
  Planes planes{};
  for (std::size_t plane = 0; plane < width; ++plane) planes[plane] = data.data() + plane * values.size();
  from_planes(planes, width, values);
}

Bytes pack_planes(BytesView planes, std::size_t width) {
  const std::size_t count = planes.size() / width;
  Bytes out;
  for (std::size_t plane = 0; plane < width; ++plane) {
    const BytesView raw = planes.subspan(plane * count, count);
    Bytes compressed;
    if (count >= kSmallestCompressed) compressed = compress_zstandard(raw);
    const BytesView stored = !compressed.empty() && compressed.size() < count ? BytesView(compressed) : raw;
    append_varint(out, stored.size());
    append(out, stored);
  }
  return out;
}

Status decode_packed_values(BytesView packed, std::size_t width, std::uint64_t count,
                            std::vector<double>& values) {
  std::unique_ptr<std::byte[]> decompressed;  // not needed if all planes are stored uncompressed
  Planes planes{};
  std::size_t position = 0;
  for (std::size_t plane = 0; plane < width; ++plane) {
    std::uint64_t size = 0;
    if (!read_varint(packed, position, size) || size > count || size > packed.size() - position)
      return Error{Code::kDataLoss, "a plane of a column is cut off"};
    const BytesView stored = packed.subspan(position, size);
    position += size;
    planes[plane] = stored.data();
    if (size == count) continue;
    if (!decompressed) decompressed = std::make_unique_for_overwrite<std::byte[]>(count * width);
    const MutableBytesView target(decompressed.get() + plane * count, count);
    HEADRACE_CHECK(decompress_zstandard(stored, target));
    planes[plane] = target.data();
  }
  if (position != packed.size()) return Error{Code::kDataLoss, "a column has more planes than bytes"};
  values.resize(count);
  from_planes(planes, width, values);
  return {};
}

SegmentPiece append_uncompressed_piece(Bytes& segment, BytesView raw) {
  const SegmentPiece piece{.offset = segment.size(), .size = raw.size(), .crc32c = crc32c(raw)};
  append(segment, raw);
  return piece;
}

SegmentPiece append_piece(Bytes& segment, BytesView raw) {
  Bytes compressed;
  if (raw.size() >= kSmallestCompressed) compressed = compress_zstandard(raw);
  if (compressed.empty() || compressed.size() >= raw.size()) return append_uncompressed_piece(segment, raw);
  SegmentPiece piece = append_uncompressed_piece(segment, compressed);
  piece.raw_size = raw.size();
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

Result<BytesView> open_piece(BytesView stored, const SegmentPiece& piece, std::uint64_t most_bytes,
                             Bytes& decompressed) {
  const std::uint64_t size = piece.raw_size == 0 ? piece.size : piece.raw_size;
  if (size > most_bytes || piece.size > size)
    return Error{Code::kDataLoss, concat("a piece of ", size, " bytes at offset ", piece.offset,
                                         ", more than the ", most_bytes, " that are possible")};
  if (stored.size() != piece.size || crc32c(stored) != piece.crc32c)
    return Error{Code::kDataLoss,
                 concat("wrong checksum of the ", piece.size, " bytes at offset ", piece.offset)};
  if (piece.raw_size == 0) return stored;
  HEADRACE_TRY(decompressed, decompress_zstandard(stored, piece.raw_size));
  return BytesView(decompressed);
}

Result<Bytes> read_piece(const ReadSegment& read, const SegmentPiece& piece, std::uint64_t most_bytes) {
  if (piece.size > most_bytes)
    return Error{Code::kDataLoss, concat("a piece of ", piece.size, " bytes at offset ", piece.offset,
                                         ", more than the ", most_bytes, " that are possible")};
  HEADRACE_TRY(Bytes stored, read(piece.offset, piece.size));
  Bytes decompressed;
  HEADRACE_CHECK(open_piece(stored, piece, most_bytes, decompressed));
  return piece.raw_size == 0 ? std::move(stored) : std::move(decompressed);
}

}  // namespace headrace
