#pragma once

/// \file How well an order mixes: a number for people, from the order function alone.

#include <cstdint>

#include "headrace/stream/source.h"

namespace headrace {

/// The quality of one epoch's shuffle. Both are 1 for a perfect shuffle, to within chance, and about 0 for
/// dataset order.
struct ShuffleQuality {
  /// How far records move: the mean distance, as a share of the epoch, between a record's place in the
  /// dataset and in the epoch, over that of a perfect shuffle, which is one third.
  double displacement = 0;
  /// How far a batch reaches: the mean distance in the dataset of two neighbours in the epoch, over the
  /// same.
  double spread = 0;
};

/// Looks at up to `samples` places, chosen by the seed. Cost: O(blocks) and some µs a sample.
ShuffleQuality shuffle_quality(const Source& source, std::uint64_t epoch, std::uint64_t samples,
                               std::uint64_t seed);

}  // namespace headrace
