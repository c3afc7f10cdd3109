#pragma once

/// \file Dataset order, ranges and the validation range: docs/formats/order.md, "Dataset order".

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "headrace/record/manifest.h"

namespace headrace {

/// The version of docs/formats/order.md for new states and runs. States and runs of version 1 continue with
/// version 1. Version 3 is version 2 with arrangements.
inline constexpr int kOrderVersion = 3;

/// The version that states and runs record. It is 3 only for an order with an arrangement, because an older
/// reader would ignore the arrangement.
constexpr int named_order_version(int version, bool is_arranged) {
  return is_arranged ? kOrderVersion : std::min(version, 2);
}

/// Records first … first + count − 1 of a dataset, counted as in docs/formats/order.md.
struct RecordRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  bool operator==(const RecordRange&) const = default;
};

/// Some of the records of a range, which need not be consecutive.
struct RecordSelection {
  /// Identifies the selection: together with the data and the range, it determines the numbers.
  std::string name;
  /// The records' numbers in dataset order, counted from the range's first record; ascending.
  std::vector<std::uint64_t> numbers;
};

struct OrderedShard {
  std::uint64_t record_count = 0;
  const ShardThousandths* thousandths = nullptr;  // null or without records: unknown
};

/// The order of a dataset's shards and records. Immutable, hence thread-safe. Memory: 60 bytes per shard, and
/// 8 for each thousandth of a shard.
class DataOrder {
 public:
  /// \param shards   in the manifest's order
  /// \param version  1 to kOrderVersion
  DataOrder(std::span<const OrderedShard> shards, int version);

  /// The shards' numbers in the manifest, in dataset order.
  const std::vector<std::uint32_t>& shards() const { return sequence_; }

  /// For each shard in the order of the manifest, the number of its records among the dataset's first
  /// `count`. They are the first records of the shard. Cost: O(shards). REQUIRES: count <= the number of all
  /// records.
  std::vector<std::uint64_t> cut(std::uint64_t count) const;

  /// Visits the first `count` records, in the order in which ranges count them. Calls `visit_run` for each
  /// run of consecutive records of one shard, with the shard's number in the manifest and the records'
  /// numbers in the shard. Cost: a thousand steps per shard. REQUIRES: count <= the number of all records.
  void visit(std::uint64_t count,
             const std::function<void(std::uint32_t shard, const RecordRange& records)>& visit_run) const;

  /// The records that a run with this validation share holds out. REQUIRES: 0 <= share < 1
  RecordRange validation_range(double share) const;

  /// True only if both orders have the same sequence of shards and the same records in every range. May be
  /// false even if they do.
  bool is_same(const DataOrder& other) const;

 private:
  struct Front {
    std::uint64_t record_count = 0;
    std::uint64_t thousandth = 0;       // of the first record
    std::vector<std::uint64_t> sums{};  // records up to that thousandth, up to the next, …; empty: unknown
    std::uint64_t spread_first = 0;     // if unknown: its first record's number in all such shards together
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
