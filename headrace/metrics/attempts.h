#pragma once

/// \file Decides which points of earlier attempts count. docs/formats/metric-segments.md, "Attempts".

#include <algorithm>
#include <cstdint>
#include <optional>

namespace headrace {

/// Tells which points of an attempt later attempts supersede. Attempts of one rank are added latest first.
class LaterAttempts {
 public:
  /// The first step that the attempts added so far supersede in earlier attempts. None: all points of earlier
  /// attempts count.
  std::optional<std::int64_t> end() const { return end_; }
  /// Adds the next earlier attempt. `from_step` is the step from which it logs again; none: it supersedes
  /// nothing.
  void add(std::optional<std::int64_t> from_step) {
    if (from_step) end_ = std::min(end_.value_or(*from_step), *from_step);
  }

 private:
  std::optional<std::int64_t> end_;
};

}  // namespace headrace
