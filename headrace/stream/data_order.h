#pragma once

/// \file Dataset order, ranges and the validation part: docs/formats/order.md, "Dataset order".

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "headrace/record/manifest.h"

namespace headrace {

/// Version of docs/formats/order.md for new states and runs. Those of version 1 continue by version 1.
/// Version 3 is version 2 with arrangements.
inline constexpr int kOrderVersion = 3;

/// The version that states and runs name: 3 only for an order with an arrangement, which an older reader
/// would leave out.
constexpr int named_order_version(int version, bool is_arranged) {
  return is_arranged ? kOrderVersion : std::min(version, 2);
}

/// Records first … first + count − 1 of a dataset, as docs/formats/order.md counts them.
struct RecordRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  bool operator==(const RecordRange&) const = default;
};

/// Some of the records of a range, where these are not consecutive.
struct RecordSelection {
  /// Says which: with the data and the range, it decides the numbers.
  std::string name;
  /// In dataset order from the range's first record on; ascending.
  std::vector<std::uint64_t> numbers;
};

struct OrderedShard {
  std::uint64_t record_count = 0;
  const ShardThousandths* thousandths = nullptr;  // null or without records: unknown
};

/// Immutable, hence thread-safe. Memory: 60 bytes a shard, and 8 for each thousandth of a shard.
class DataOrder {
 public:
  /// \param shards   in the manifest's order
  /// \param version  1 to kOrderVersion
  DataOrder(std::span<const OrderedShard> shards, int version);

  /// Numbers of the shards in the manifest, in dataset order.
  const std::vector<std::uint32_t>& shards() const { return sequence_; }

  /// For each shard of the manifest, how many of its records are among the first `count`: they are the front
  /// of the shard. Cost: O(shards). REQUIRES: count <= the number of all records
  std::vector<std::uint64_t> cut(std::uint64_t count) const;

  /// Visits the first `count` records as ranges count them, in runs of consecutive records of one shard: its
  /// number in the manifest, and which of its records. Cost: a thousand looks at each shard.
  /// REQUIRES: count <= the number of all records
  void visit(std::uint64_t count,
             const std::function<void(std::uint32_t shard, const RecordRange& records)>& visit_run) const;

  /// The records that a run with this share of validation holds out. REQUIRES: 0 <= share < 1
  RecordRange validation_range(double share) const;

  /// Whether both have the same order of shards, and the same records in every range. May be false though
  /// they have, never true though they have not.
  bool is_same(const DataOrder& other) const;

 private:
  struct Front {
    std::uint64_t record_count = 0;
    std::uint64_t thousandth = 0;       // of the first record
    std::vector<std::uint64_t> sums{};  // records up to that thousandth, up to the next, …; empty: unknown
    std::uint64_t spread_first = 0;     // if unknown: number of the first record among those spread
  };
  std::uint64_t records_below(const Front& shard, std::uint64_t thousandth) const;
  std::uint64_t records_below(std::uint64_t thousandth) const;
  std::uint64_t spread_thousandth(std::uint64_t record) const;
  std::uint64_t last_thousandth(const Front& shard) const;
  bool has_thousandths_in_sequence() const;

  const int version_;
  std::vector<Front> fronts_;
  std::vector<std::uint32_t> sequence_;
  std::uint64_t record_count_ = 0;
  std::uint64_t spread_records_ = 0;  // in shards whose thousandths are unknown
};

}  // namespace headrace
