#pragma once

/// \file The parts of an input that have been read before.

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

/// A set of files and objects that have been read, with their versions. Memory: 16 bytes for each. After
/// `settle`, const functions are thread-safe.
class KnownInputs {
 public:
  enum class Match : std::uint8_t { kNew, kSame, kChanged };
  using Hashes = std::pair<std::uint64_t, std::uint64_t>;  // of the URL and of the version

  KnownInputs() = default;
  /// Takes the `hashes` of another set.
  explicit KnownInputs(std::vector<Hashes> hashes) : versions_(std::move(hashes)) { settle(); }

  /// Adds a version of a URL. A later version of the same URL replaces an earlier one.
  void add(std::string_view url, std::string_view version);
  /// Compares with the version that was read. REQUIRES: nothing was added since `settle`
  Match look(std::string_view url, std::string_view version) const;
  /// True if any version of the URL was read. REQUIRES: as `look`
  bool has(std::string_view url) const { return look(url, "") != Match::kNew; }
  /// Prepares for `look`. Call after the last `add`.
  void settle();
  /// The hashes. The same additions in the same order give the same hashes.
  const std::vector<Hashes>& hashes() const { return versions_; }

 private:
  std::vector<Hashes> versions_;  // ascending by the URL's hash, once settled
};

/// The error for a file or object that has changed since it was read, with advice.
Error changed_since_read(std::string_view url);

}  // namespace headrace
