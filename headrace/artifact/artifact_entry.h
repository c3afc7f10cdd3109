#pragma once

/// \file Entries of an artifact, and the list of entries as bytes. docs/formats/artifacts.md, "List of
/// entries".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

/// One object of an artifact.
struct ArtifactEntry {
  std::string path;  // within the artifact: base/key.h
  /// For a reference, where the object is. Empty: the bytes are kept as content.
  std::string url{};
  /// For a reference, the store's version of the object; empty: unknown.
  std::string version{};
  std::uint64_t size_bytes = 0;
  std::optional<std::uint32_t> crc32c{};
  /// 64 hexadecimal digits; empty: unknown. Content always has it.
  std::string sha256{};

  bool is_reference() const { return !url.empty(); }
  bool operator==(const ArtifactEntry&) const = default;
};

inline constexpr std::size_t kMostArtifactEntries = 1'000'000;
inline constexpr std::uint64_t kEntryListLimitBytes = std::uint64_t{1} << 30;

/// Whether a text is 64 lower-case hexadecimal digits.
bool is_sha256_hex(std::string_view text);

/// The bytes of a list. They are canonical: equal lists have equal bytes. REQUIRES: sorted by path, no path
/// twice
std::string serialize_entries(const std::vector<ArtifactEntry>& entries);

/// Parses a list that arrives in pieces. Memory: the entries, and one line. Not thread-safe.
class EntryListReader {
 public:
  /// Parses the next piece of the list.
  /// \error kDataLoss           a line does not follow the format, or is out of order
  /// \error kResourceExhausted  there are more than kMostArtifactEntries
  Status add(BytesView piece);
  /// The entries. Call it once, after the last piece. \error kDataLoss  the last line is cut off
  Result<std::vector<ArtifactEntry>> finish();

 private:
  Status add_line(std::string_view line);

  std::string line_;  // the beginning of a line, from earlier pieces
  std::vector<ArtifactEntry> entries_;
  std::uint64_t size_bytes_ = 0;
};

}  // namespace headrace
