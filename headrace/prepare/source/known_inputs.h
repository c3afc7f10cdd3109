#pragma once

/// \file What of an input was read before.

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

/// The files and objects that were read. Memory: 16 bytes for each.
class KnownInputs {
 public:
  enum class Match : std::uint8_t { kNew, kSame, kChanged };

  /// Of one URL the last that is added counts.
  void add(std::string_view url, std::string_view version);
  /// REQUIRES: nothing was added since `settle`
  Match look(std::string_view url, std::string_view version) const;
  void settle();

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> versions_;  // hashes of URL and version, ascending
};

/// That a file or an object has changed, and what to do.
Error changed_since_read(std::string_view url);

}  // namespace headrace
