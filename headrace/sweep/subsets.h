#pragma once

/// \file Chooses the records that the runs of a learning curve train on: docs/decisions/learning-curves.md.
/// Pure functions.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/stream/data_order.h"

namespace headrace {

inline constexpr std::uint64_t kLeastSubset = 10;  // records

/// `count` sizes, largest first: all records of the training part, half of them, a quarter … rounded up.
/// \error kInvalidArgument  the smallest size would be less than kLeastSubset
Result<std::vector<std::uint64_t>> subset_sizes(std::uint64_t part_records, std::size_t count);

/// The position in [0, 1] of the subsets of a seed: 0, 1, and then van der Corput's sequence in base 2, 1/2,
/// 1/4, 3/4, 1/8 … `number` is the number of the seed, from 0.
double subset_place(std::uint64_t number);

/// The records that the run with this seed and size trains on. The ranges of one seed are nested, whatever
/// `part_records` the sizes were computed from. A range of size `part_records` has all records.
/// REQUIRES: 0 < size <= part_records < 2^52
RecordRange subset_range(std::uint64_t part_records, std::uint64_t size, std::uint64_t number);

/// The number of records of each class in a stratified subset of about `size` records:
/// max(1, ⌊size · N_c / N + ½⌋) for class c, which has N_c of the N records, in IEEE doubles. It grows with
/// `size`, and is N_c for size N. If it is not raised to 1, it is within half a record of the class's share.
/// The sum over the classes is the size of the subset. With few records of many classes, the sum may be far
/// from `size`: for 1,000 classes of 3 records and size 1,500 it is 2,000.
/// \param class_records  N_c. REQUIRES: each above 0; 0 < size <= N < 2^50
std::vector<std::uint64_t> stratum_sizes(std::span<const std::uint64_t> class_records, std::uint64_t size);

/// The stratified subset with this seed and size: for each class, subset_range of its records. The subsets of
/// one seed are nested.
std::vector<RecordRange> stratified_ranges(std::span<const std::uint64_t> class_records, std::uint64_t size,
                                           std::uint64_t number);

}  // namespace headrace
