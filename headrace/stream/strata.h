#pragma once

/// \file The classes of the records at the front of a dataset's order, and parts of each class.

#include <cstdint>
#include <span>
#include <vector>

#include "headrace/stream/data_order.h"

namespace headrace {

/// The first records of a dataset, as ranges count them, divided into strata: those of each class. Immutable,
/// hence thread-safe. Memory: 4 bytes for each record.
class Strata {
 public:
  /// \param order    of the dataset
  /// \param classes  of the first classes.size() records as ranges count them, but in dataset order. Each
  ///                 number that occurs is a stratum, whatever its value
  Strata(DataOrder order, std::vector<std::uint32_t> classes);

  /// The number of records in each stratum, in the order of the classes' numbers. None is 0.
  const std::vector<std::uint64_t>& counts() const { return counts_; }

  /// Memory for the strata.
  std::uint64_t bytes() const { return strata_.size() * sizeof(std::uint32_t); }

  /// The records of each stratum that lie in its range; here a range counts the stratum's records, in the
  /// order in which ranges of the dataset count. Returns their numbers in dataset order, ascending. Cost: a
  /// look at each record. Memory: 8 bytes for each selected one. REQUIRES: a range for each
  /// stratum, within its count
  std::vector<std::uint64_t> select(std::span<const RecordRange> ranges) const;

 private:
  DataOrder order_;
  std::vector<std::uint32_t> strata_;  // in dataset order
  std::vector<std::uint64_t> counts_;
};

}  // namespace headrace
