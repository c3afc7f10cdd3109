#pragma once

/// \file Measures how well an order mixes records, from the order function alone; for people.

#include <cstdint>

#include "headrace/stream/source.h"

namespace headrace {

/// The quality of one epoch's shuffle. Both numbers are about 1 for a perfect shuffle, and about 0 for
/// dataset order.
struct ShuffleQuality {
  /// How far records move: the mean distance between a record's position in the dataset and in the epoch,
  /// divided by that of a perfect shuffle, which is a third of the records.
  double displacement = 0;
  /// How far a batch reaches: the mean distance in the dataset between two neighbours in the epoch, divided
  /// by the same number.
  double spread = 0;
};

/// Examines up to `samples` positions, chosen by the seed. Cost: O(blocks), and some µs per sample.
ShuffleQuality shuffle_quality(const Source& source, std::uint64_t epoch, std::uint64_t samples,
                               std::uint64_t seed);

}  // namespace headrace
