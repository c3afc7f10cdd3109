#pragma once

/// \file Arrangements: which record of a window comes at which of the window's positions, by a value of each
/// record. Pure functions. docs/formats/order.md, "Arrangement of a window", defines every bit of them;
/// tests/python/test_order.py is an independent implementation.

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "headrace/record/example_decoder.h"

namespace headrace {

enum class ArrangementKind : std::uint8_t {
  kNone,
  kBalance,  // each class as often as every other
  kBucket,   // batches of records of similar length
};

/// "none", "balance", "bucket".
std::string_view arrangement_name(ArrangementKind kind);

struct WindowArrangement {
  ArrangementKind kind = ArrangementKind::kNone;
  /// The feature that holds the class, or whose values are counted. Only its name, type and length are used.
  Column feature{};
};

/// In place of the value of a record that has none, because it cannot be read.
inline constexpr std::int64_t kNoValue = std::numeric_limits<std::int64_t>::min();

/// The seed for a window's arrangement, from the seed of its source's order.
std::uint64_t arrangement_seed(std::uint64_t seed, std::uint64_t epoch, std::uint64_t window);

/// For each position of a window, the position at which its record would come without an arrangement. Records
/// of rare classes come several times, some of frequent ones not at all; one without a value keeps its place.
/// Memory besides the result: 16 bytes for each record. REQUIRES: fewer than 2^32 values
/// \param values  class of the record at each position without an arrangement
std::vector<std::uint32_t> balanced_order(std::span<const std::int64_t> values, std::uint64_t seed);

/// The same for batches of similar length: a permutation. Memory besides the result: 8 bytes for each record.
/// REQUIRES: fewer than 2^32 values
/// \param values          number of values of the record at each position without an arrangement
/// \param first_position  of the window in its epoch
std::vector<std::uint32_t> bucketed_order(std::span<const std::int64_t> values, std::uint64_t seed,
                                          std::uint64_t first_position, std::uint64_t batch_size);

}  // namespace headrace
