#pragma once

/// \file What a spill says of itself: splits, tables of buckets, hashes. For this folder's own use, but
/// `RowsSplit` and `ContentHash`.

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

/// The rows that a spill has of one split.
struct RowsSplit {
  std::string name{};
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;             // which they have in the spill
  std::uint64_t referenced_bytes = 0;  // sizes of their references, where known
};

/// Of the content of a row.
struct ContentHash {
  std::uint64_t hash = 0;
  RowPlace place{};
  std::uint32_t split = 0;  // its number in the footer
  auto operator<=>(const ContentHash&) const = default;
};

/// Where the rows of one split lie, by the first bits of their order.
class BucketTable {
 public:
  /// More would be too many for the footers of many spills in memory: 16 bytes each.
  static constexpr int kMaxBits = 12;
  /// Of the number of buckets for so many rows.
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
  /// Where a bucket begins; `buckets().size()`: where the last one ends.
  std::uint64_t offset_bytes(std::size_t bucket) const {
    return bucket == buckets_.size() ? end_bytes_ : buckets_[bucket].offset_bytes;
  }

 private:
  int bits_ = 0;
  std::vector<Bucket> buckets_{};
  std::uint64_t end_bytes_ = 0;
};

inline constexpr std::string_view kRowsHeader = "HRROWS1\n";
inline constexpr std::string_view kRowsTrailer = "HRR1";
inline constexpr std::size_t kRowsTrailerBytes = 24;
inline constexpr std::size_t kContentHashBytes = 24;
inline constexpr std::size_t kMaxRowsSplits = 1'024;
inline constexpr std::size_t kMaxSplitNameBytes = 1'024;

struct RowsFooter {
  std::vector<RowsSplit> splits{};    // ascending by name
  std::vector<BucketTable> tables{};  // of each
  Bucket hashes{};

  Bytes serialize() const;
  /// `offset_bytes` is where the footer begins: all that is before it has to be accounted for.
  /// REQUIRES: offset_bytes >= kRowsHeader.size()
  /// \error kDataLoss  says only what is wrong, not of which object
  static Result<RowsFooter> parse(BytesView footer, std::uint64_t offset_bytes);
};

}  // namespace headrace
