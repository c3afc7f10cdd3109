#pragma once

/// \file Selects parts of each class from the first records of a dataset's order.

#include <cstdint>
#include <span>
#include <vector>

#include "headrace/stream/data_order.h"

namespace headrace {

/// The first records of a dataset, in the order in which ranges count them, divided into strata: one stratum
/// for each class. Immutable, hence thread-safe. Memory: 4 bytes for each record.
class Strata {
 public:
  /// \param order    the dataset's order
  /// \param classes  the class of each of the first classes.size() records that ranges count, listed in
  ///                 dataset order. Each number that occurs is a stratum, whatever its value
  Strata(DataOrder order, std::vector<std::uint32_t> classes);

  /// The number of records in each stratum, in the order of the classes' numbers. Never 0.
  const std::vector<std::uint64_t>& counts() const { return counts_; }

  /// The memory for the strata.
  std::uint64_t bytes() const { return strata_.size() * sizeof(std::uint32_t); }

  /// The records that lie in the range of their stratum. A range here counts only the stratum's records, in
  /// the order in which ranges of the dataset count them. Returns the records' numbers in dataset order,
  /// ascending. Cost: a step for each record. Memory: 8 bytes for each selected record. REQUIRES: one range
  /// for each stratum, within its count.
  std::vector<std::uint64_t> select(std::span<const RecordRange> ranges) const;

 private:
  DataOrder order_;
  std::vector<std::uint32_t> strata_;  // in dataset order
  std::vector<std::uint64_t> counts_;
};

}  // namespace headrace
