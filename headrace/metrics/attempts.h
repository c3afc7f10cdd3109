#pragma once

/// \file Which points of earlier attempts count: docs/formats/metric-segments.md, "Attempts".

#include <algorithm>
#include <cstdint>
#include <optional>

namespace headrace {

/// Walks the attempts of one rank, the latest first.
class LaterAttempts {
 public:
  /// The first step that attempts which were added supersede in an earlier one; none: all its points count.
  std::optional<std::int64_t> end() const { return end_; }
  /// `from_step`: from which the attempt logs again.
  void add(std::optional<std::int64_t> from_step) {
    if (from_step) end_ = std::min(end_.value_or(*from_step), *from_step);
  }

 private:
  std::optional<std::int64_t> end_;
};

}  // namespace headrace
