#pragma once

/// \file The order that a data set has of its own, in which its ranges are counted: docs/formats/order.md, "Inputs".

#include <cstdint>
#include <span>
#include <vector>

#include "headrace/record/manifest.h"

namespace headrace {

/// The version of docs/formats/order.md that new states are of. Those of version 1 are continued by it.
inline constexpr int kOrderVersion = 2;

/// Records first … first + count − 1 of a data set, as docs/formats/order.md counts them.
struct RecordRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  bool operator==(const RecordRange&) const = default;
};

/// Of a shard, in the manifest's order.
struct OrderedShard {
  std::uint64_t record_count = 0;
  const ShardThousandths* thousandths = nullptr;  // none, or without records: not known
};

/// Immutable, hence thread-safe. Memory: 32 bytes a shard, 8 a thousandth of each.
class DataOrder {
 public:
  /// \param version  1 or 2
  DataOrder(std::span<const OrderedShard> shards, int version);

  /// The shards in data-set order.
  const std::vector<std::uint32_t>& shards() const { return sequence_; }

  /// How many records of each shard, by its number in the manifest, are among the first `count`: the front of
  /// each. O(shards). REQUIRES: count <= the number of all records
  std::vector<std::uint64_t> cut(std::uint64_t count) const;

  /// The records of which only validation is made: a share of the data set, from 0 to 1. REQUIRES: of version 1,
  /// the share is below 1
  RecordRange validation_range(double share) const;

  /// True only if both have the shards in the same order, and the same records in every range.
  bool is_same(const DataOrder& other) const;

 private:
  // Of a shard.
  struct Front {
    std::uint64_t record_count = 0;
    std::uint64_t first = 0;  // thousandth; or, if it has no `sums`, its first record among those that
                              // are spread
    std::vector<std::uint64_t> sums = {};  // records of the thousandths up to and with first, first + 1, …
  };
  std::uint64_t records_below(const Front& shard, std::uint64_t thousandth) const;
  std::uint64_t records_below(std::uint64_t thousandth) const;
  std::uint64_t spread_thousandth(std::uint64_t record) const;
  std::uint64_t first_thousandth(const Front& shard) const;
  std::uint64_t last_thousandth(const Front& shard) const;
  bool has_thousandths_in_sequence() const;

  const int version_;
  std::vector<Front> fronts_;
  std::vector<std::uint32_t> sequence_;
  std::uint64_t record_count_ = 0;
  std::uint64_t spread_records_ = 0;  // of shards whose thousandths are not known
};

}  // namespace headrace
