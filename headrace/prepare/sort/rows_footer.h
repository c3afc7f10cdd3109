#pragma once

/// \file The footer of a spill: splits, tables of buckets, hashes. Only for use in this folder, except
/// `RowsSplit`, `ContentDigest` and `ContentHash`.

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/prepare/row/row.h"
#include "headrace/prepare/sort/spill_object.h"

namespace headrace {

/// The rows of one split in a spill.
struct RowsSplit {
  std::string name{};
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;             // in the spill
  std::uint64_t referenced_bytes = 0;  // sum of the known sizes of their references
};

/// Identifies a row's content: 128 bits of its SHA-256, so that nobody can make two contents with one digest.
struct ContentDigest {
  std::uint64_t first = 0;   // the digest's bytes 0 to 7, little-endian
  std::uint64_t second = 0;  // its bytes 8 to 15
  auto operator<=>(const ContentDigest&) const = default;
};
ContentDigest digest_content(BytesView content);

/// The digest of a row's content, and the row's place.
struct ContentHash {
  ContentDigest digest{};
  RowPlace place{};
  std::uint32_t split = 0;  // index into the footer's splits
  auto operator<=>(const ContentHash&) const = default;
};

/// Where the rows of one split lie, by the first bits of their order. Immutable.
class BucketTable {
 public:
  /// Larger tables would make the footers of many spills too large for memory: a bucket takes 16 bytes.
  static constexpr int kMaxBits = 12;
  /// The number of bits for a split with this many rows and bytes. The table then has 2^bits buckets.
  static int bits_for(std::uint64_t rows, std::uint64_t bytes);

  BucketTable() = default;
  /// REQUIRES: 2^bits buckets, 0 <= bits <= kMaxBits
  BucketTable(int bits, std::vector<Bucket> buckets, std::uint64_t end_bytes)
      : bits_(bits), buckets_(std::move(buckets)), end_bytes_(end_bytes) {}

  int bits() const { return bits_; }
  std::span<const Bucket> buckets() const { return buckets_; }
  std::size_t bucket_of(std::uint64_t order) const { return bits_ == 0 ? 0 : order >> (64 - bits_); }
  std::uint64_t first_order(std::size_t bucket) const { return bits_ == 0 ? 0 : bucket << (64 - bits_); }
  std::uint64_t last_order(std::size_t bucket) const {
    return first_order(bucket) | (~std::uint64_t{0} >> bits_);
  }
  /// Where a bucket begins. For `buckets().size()`: where the last bucket ends.
  std::uint64_t offset_bytes(std::size_t bucket) const {
    return bucket == buckets_.size() ? end_bytes_ : buckets_[bucket].offset_bytes;
  }

 private:
  int bits_ = 0;
  std::vector<Bucket> buckets_{};
  std::uint64_t end_bytes_ = 0;
};

inline constexpr std::string_view kRowsHeader = "HRROWS2\n";
inline constexpr std::string_view kRowsTrailer = "HRR2";
inline constexpr std::size_t kRowsTrailerBytes = 24;
inline constexpr std::size_t kContentHashBytes = 32;
inline constexpr std::size_t kMaxRowsSplits = 1'024;
inline constexpr std::size_t kMaxSplitNameBytes = 1'024;

struct RowsFooter {
  std::vector<RowsSplit> splits{};    // ascending by name
  std::vector<BucketTable> tables{};  // of each split
  Bucket hashes{};

  Bytes serialize() const;
  /// Parses the footer that begins at `offset_bytes`. The footer must account for every byte before it.
  /// REQUIRES: offset_bytes >= kRowsHeader.size()
  /// \error kDataLoss  the footer is damaged; the message does not name the object
  static Result<RowsFooter> parse(BytesView footer, std::uint64_t offset_bytes);
};

}  // namespace headrace
