#pragma once

/// \file Columns of numbers as bytes, and the pieces of a segment that hold them:
/// docs/formats/metric-segments.md.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

inline constexpr std::uint64_t kMostVarintBytes = 10;  // of an integer, and of the size of a plane

/// Differences of differences, as zigzag varints.
Bytes encode_integers(std::span<const std::int64_t> numbers);
/// \error kDataLoss  they are not exactly so many
Result<std::vector<std::int64_t>> decode_integers(BytesView data, std::size_t count);

/// 4 if all are exact in single precision, else 8.
std::size_t width_of_values(std::span<const double> values);
/// `width` bytes each: exclusive or with the value before, by planes of bytes.
/// REQUIRES: with 4, all are exact in single precision.
Bytes encode_values(std::span<const double> values, std::size_t width);
/// The values replace those of `values`, whose memory is used again.
/// REQUIRES: `data` holds a whole number of values of 4 or 8 bytes.
void decode_values(BytesView data, std::size_t width, std::vector<double>& values);

/// Bytes of encode_values, each plane compressed by itself: low bytes are noise, and cost nothing to read.
Bytes pack_planes(BytesView planes, std::size_t width);
/// The values that encode_values had, as decode_values gives them.
/// \error kDataLoss  they are not exactly `count` values
Status decode_packed_values(BytesView packed, std::size_t width, std::uint64_t count,
                            std::vector<double>& values);

/// Where bytes lie in a segment.
struct SegmentPiece {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t crc32c = 0;
  std::uint64_t raw_size = 0;  // before compression; 0: not compressed
};

/// Appends a piece to a segment, compressed if that makes it smaller.
SegmentPiece append_piece(Bytes& segment, BytesView raw);
SegmentPiece append_uncompressed_piece(Bytes& segment, BytesView raw);

/// Reads so many bytes of a segment at an offset.
using ReadSegment = std::function<Result<Bytes>(std::uint64_t offset, std::uint64_t size)>;

/// For a segment in memory, which must outlive it. \error kOutOfRange
ReadSegment read_from(BytesView segment);

/// The piece as it was appended, from its bytes in the segment: a view of them, or of `decompressed`.
/// \error kDataLoss  it is damaged, or larger than `most_bytes`
Result<BytesView> open_piece(BytesView stored, const SegmentPiece& piece, std::uint64_t most_bytes,
                             Bytes& decompressed);

/// Reads it before.
/// \error kDataLoss  it is damaged, or larger than `most_bytes`
Result<Bytes> read_piece(const ReadSegment& read, const SegmentPiece& piece, std::uint64_t most_bytes);

}  // namespace headrace
