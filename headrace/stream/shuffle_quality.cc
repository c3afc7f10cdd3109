#include "headrace/stream/shuffle_quality.h"

#include <algorithm>
#include <cmath>

namespace headrace {

ShuffleQuality shuffle_quality(const Source& source, std::uint64_t epoch, std::uint64_t samples,
                               std::uint64_t seed) {
  const std::uint64_t count = source.record_count();
  if (count < 2) return {1, 1};
  samples = std::clamp<std::uint64_t>(samples, 1, count - 1);
  const HashKey key = derive_order_key(seed, "quality", epoch, 0);
  const auto distance = [](std::uint64_t a, std::uint64_t b) {
    return static_cast<double>(a > b ? a - b : b - a);
  };
  double displacement = 0, spread = 0;
  for (std::uint64_t i = 0; i < samples; ++i) {
    const std::uint64_t position = permute(key, count - 1, i);
    const std::uint64_t here = source.number_at(epoch, position);
    displacement += distance(here, position);
    spread += distance(here, source.number_at(epoch, position + 1));
  }
  const double perfect = static_cast<double>(count) / 3 * static_cast<double>(samples);
  return {displacement / perfect, spread / perfect};
}

}  // namespace headrace
