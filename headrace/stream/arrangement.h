#pragma once

/// \file Arrangements reorder the records of a window by a value of each record. Pure functions.
/// docs/formats/order.md, "Arrangement of a window", defines every bit of them; tests/python/test_order.py is
/// an independent implementation.

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "headrace/record/example_decoder.h"

namespace headrace {

enum class ArrangementKind : std::uint8_t {
  kNone,
  kBalance,  // every class equally often
  kBucket,   // batches of records of similar length
};

/// "none", "balance" or "bucket".
std::string_view arrangement_name(ArrangementKind kind);

struct WindowArrangement {
  ArrangementKind kind = ArrangementKind::kNone;
  /// The feature that holds the class, or whose values are counted. Only its name, type and length are used.
  Column feature{};
};

/// Stands for the value of a record that has none, because it cannot be read.
inline constexpr std::int64_t kNoValue = std::numeric_limits<std::int64_t>::min();

/// The seed for the arrangement of a window. `seed` is that of the source's order.
std::uint64_t arrangement_seed(std::uint64_t seed, std::uint64_t epoch, std::uint64_t window);

/// The order of a window with balanced classes. For each position, the result is the position that the record
/// there would have without an arrangement. Records of rare classes occur several times; some records of
/// frequent classes do not occur. A record without a value keeps its position. Memory besides the result: 16
/// bytes for each record. REQUIRES: fewer than 2^32 values.
/// \param values  for each position without an arrangement, the class of its record
std::vector<std::uint32_t> balanced_order(std::span<const std::int64_t> values, std::uint64_t seed);

/// The order of a window with batches of records of similar length, in the same form. It is a permutation.
/// Memory besides the result: 8 bytes for each record. REQUIRES: fewer than 2^32 values.
/// \param values          for each position without an arrangement, the length of its record
/// \param first_position  the window's first position in its epoch
std::vector<std::uint32_t> bucketed_order(std::span<const std::int64_t> values, std::uint64_t seed,
                                          std::uint64_t first_position, std::uint64_t batch_size);

}  // namespace headrace
