#pragma once

/// \file Encodes columns of numbers as bytes, and the pieces of a segment that hold them.
/// docs/formats/metric-segments.md, "Layout of a segment".

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

inline constexpr std::uint64_t kMostVarintBytes = 10;  // largest encoded integer, or size of a plane

/// Encodes integers as differences of differences, which are zigzag varints.
Bytes encode_integers(std::span<const std::int64_t> numbers);
/// \error kDataLoss  `data` does not hold exactly `count` numbers
Result<std::vector<std::int64_t>> decode_integers(BytesView data, std::size_t count);

/// The bytes that each value needs: 4 if all values are exact in single precision, else 8.
std::size_t width_of_values(std::span<const double> values);
/// Encodes values in `width` bytes each: exclusive or with the previous value, then sorted by planes of
/// bytes.
/// REQUIRES: with width 4, all values are exact in single precision
Bytes encode_values(std::span<const double> values, std::size_t width);
/// Decodes what encode_values returned. Replaces the contents of `values` and reuses its memory.
/// REQUIRES: `width` is 4 or 8, and `data.size()` is a multiple of it
void decode_values(BytesView data, std::size_t width, std::vector<double>& values);

/// Compresses each plane of the result of encode_values by itself. Low planes are noise, which is copied and
/// costs nothing to read.
Bytes pack_planes(BytesView planes, std::size_t width);
/// Decodes the result of pack_planes. Replaces the contents of `values`, as decode_values does.
/// \error kDataLoss  `packed` does not hold exactly `count` values
Status decode_packed_values(BytesView packed, std::size_t width, std::uint64_t count,
                            std::vector<double>& values);

/// Where a piece lies in a segment.
struct SegmentPiece {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t crc32c = 0;
  std::uint64_t raw_size = 0;  // size before compression; 0: not compressed
};

/// Appends a piece to a segment, compressed if that makes it smaller.
SegmentPiece append_piece(Bytes& segment, BytesView raw);
SegmentPiece append_uncompressed_piece(Bytes& segment, BytesView raw);

/// Reads `size` bytes of a segment at `offset`.
using ReadSegment = std::function<Result<Bytes>(std::uint64_t offset, std::uint64_t size)>;

/// Reads from a segment in memory, which must outlive the result. \error kOutOfRange  beyond its end
ReadSegment read_from(BytesView segment);

/// Checks a piece and decompresses it. The result is a view of `stored` or of `decompressed`.
/// \error kDataLoss  it is damaged, or larger than `most_bytes`
Result<BytesView> open_piece(BytesView stored, const SegmentPiece& piece, std::uint64_t most_bytes,
                             Bytes& decompressed);

/// Reads a piece and opens it, as open_piece.
/// \error kDataLoss  it is damaged, or larger than `most_bytes`
Result<Bytes> read_piece(const ReadSegment& read, const SegmentPiece& piece, std::uint64_t most_bytes);

}  // namespace headrace
