#pragma once

/// \file The parts of an input that were read before.

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

/// A set of files and objects that were read, with their versions. Memory: 16 bytes for each.
class KnownInputs {
 public:
  enum class Match : std::uint8_t { kNew, kSame, kChanged };
  using Hashes = std::pair<std::uint64_t, std::uint64_t>;  // of the URL and of the version

  KnownInputs() = default;
  /// Takes the result of `hashes` of another set.
  explicit KnownInputs(std::vector<Hashes> hashes) : versions_(std::move(hashes)) { settle(); }

  /// Adds a version of a URL. A later version replaces an earlier one of the same URL.
  void add(std::string_view url, std::string_view version);
  /// Compares with the version that was read. REQUIRES: nothing was added since `settle`
  Match look(std::string_view url, std::string_view version) const;
  /// Whether any version of a URL was read. REQUIRES: as `look`
  bool has(std::string_view url) const { return look(url, "") != Match::kNew; }
  void settle();
  /// The hashes. Equal additions in equal order give equal hashes.
  const std::vector<Hashes>& hashes() const { return versions_; }

 private:
  std::vector<Hashes> versions_;  // ascending by the URL's hash, once settled
};

/// The error for a file or object that has changed, with advice.
Error changed_since_read(std::string_view url);

}  // namespace headrace
