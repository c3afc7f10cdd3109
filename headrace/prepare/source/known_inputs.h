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
  using Hashes = std::pair<std::uint64_t, std::uint64_t>;  // of URL and version

  KnownInputs() = default;
  /// What `hashes` of others gave.
  explicit KnownInputs(std::vector<Hashes> hashes) : versions_(std::move(hashes)) { settle(); }

  /// Of one URL the last that is added counts.
  void add(std::string_view url, std::string_view version);
  /// REQUIRES: nothing was added since `settle`
  Match look(std::string_view url, std::string_view version) const;
  void settle();
  /// The same for the same additions, in their order.
  const std::vector<Hashes>& hashes() const { return versions_; }

 private:
  std::vector<Hashes> versions_;  // ascending by URL's, once settled
};

/// That a file or an object has changed, and what to do.
Error changed_since_read(std::string_view url);

}  // namespace headrace
