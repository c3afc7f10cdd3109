#include "headrace/metrics/pieces.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace headrace {
namespace {

TEST(MetricIntegers, AnySequenceComesBack) {
  std::mt19937_64 random(44);
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  std::vector<std::vector<std::int64_t>> cases = {
      {}, {0}, {kLeast, kMost, kLeast, 0, kMost}, {5, 5, 5, 4, -9}};
  for (int i = 0; i < 50; ++i) {
    auto& numbers = cases.emplace_back();
    const int bits = static_cast<int>(random() % 64);
    for (int k = 0; k < 40; ++k) numbers.push_back(static_cast<std::int64_t>(random() >> bits));
  }
  for (const auto& numbers : cases) {
    const auto decoded = decode_integers(encode_integers(numbers), numbers.size());
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(*decoded, numbers);
  }
}

TEST(MetricIntegers, EqualDistancesTakeAByteEach) {
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 0; step < 1000; ++step) steps.push_back(100 + 10 * step);
  EXPECT_LE(encode_integers(steps).size(), 1003U);
}

TEST(MetricIntegers, AnotherCountIsDamage) {
  const Bytes data = encode_integers(std::vector<std::int64_t>{1, 2, 3});
  EXPECT_EQ(decode_integers(data, 2).error().code, Code::kDataLoss);
  EXPECT_EQ(decode_integers(data, 4).error().code, Code::kDataLoss);
}

TEST(MetricValues, AllBitsComeBack) {
  std::mt19937_64 random(45);
  std::vector<double> values = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-310, 1e300, 0.1};
  for (int i = 0; i < 1000; ++i) values.push_back(std::bit_cast<double>(random()));
  EXPECT_EQ(width_of_values(values), 8U);
  std::vector<double> decoded;
  decode_values(encode_values(values, 8), 8, decoded);
  ASSERT_EQ(decoded.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint64_t>(decoded[i]), std::bit_cast<std::uint64_t>(values[i]));
}

TEST(MetricValues, SinglePrecisionTakesFourBytesAndIsExact) {
  std::mt19937 random(46);
  std::vector<double> values = {0.0, -0.0, INFINITY, -INFINITY, 0.5};
  for (int i = 0; i < 1000; ++i) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isnan(value)) values.push_back(value);
  }
  ASSERT_EQ(width_of_values(values), 4U);
  const Bytes data = encode_values(values, 4);
  EXPECT_EQ(data.size(), 4 * values.size());
  std::vector<double> decoded = {7};  // replaced
  decode_values(data, 4, decoded);
  ASSERT_EQ(decoded.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint64_t>(decoded[i]), std::bit_cast<std::uint64_t>(values[i]));
}

TEST(SegmentPieces, AreCompressedWhereThatHelps) {
  Bytes segment = to_bytes("before");
  const Bytes zeros(10'000);
  const SegmentPiece small = append_piece(segment, to_bytes("ab"));
  const SegmentPiece large = append_piece(segment, zeros);
  EXPECT_LT(large.size, 100U);
  EXPECT_EQ(to_string(*read_piece(read_from(segment), small, 2)), "ab");
  EXPECT_EQ(*read_piece(read_from(segment), large, 10'000), zeros);
}

TEST(SegmentPieces, DamageAndBombsAreRefused) {
  Bytes segment;
  const Bytes zeros(10'000);
  const SegmentPiece piece = append_piece(segment, zeros);
  EXPECT_EQ(read_piece(read_from(segment), piece, 9'999).error().code, Code::kDataLoss);
  SegmentPiece lies = piece;
  lies.raw_size = 9'000;
  EXPECT_EQ(read_piece(read_from(segment), lies, 10'000).error().code, Code::kDataLoss);
  for (std::size_t at = 0; at < segment.size(); ++at) {
    Bytes damaged = segment;
    damaged[at] ^= std::byte{4};
    EXPECT_EQ(read_piece(read_from(damaged), piece, 10'000).error().code, Code::kDataLoss) << at;
  }
}

}  // namespace
}  // namespace headrace
