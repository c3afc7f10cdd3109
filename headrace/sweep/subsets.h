#pragma once

/// \file Which records the runs of a learning curve train on: docs/decisions/learning-curves.md. Pure
/// functions.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/stream/data_order.h"

namespace headrace {

inline constexpr std::uint64_t kLeastSubset = 10;  // records

/// All records of the training part, half of them, a quarter …; `count` sizes, rounded up, largest first.
/// \error kInvalidArgument  the smallest one would have fewer than kLeastSubset records
Result<std::vector<std::uint64_t>> subset_sizes(std::uint64_t part_records, std::size_t count);

/// Where the subsets of a seed lie, in [0, 1]: 0, 1, and then the numbers of van der Corput's sequence in
/// base 2, 1/2, 1/4, 3/4, 1/8 … `number`: of the seed, from 0.
double subset_place(std::uint64_t number);

/// The records that the run of this seed with this size trains on. Ranges of one seed are nested, whatever
/// `part_records` the sizes were made of; those of size `part_records` are all records.
/// REQUIRES: 0 < size <= part_records < 2^52
RecordRange subset_range(std::uint64_t part_records, std::uint64_t size, std::uint64_t number);

/// How many records of each class a stratified subset of about `size` has: max(1, ⌊size · N_c / N + ½⌋) of
/// class c with N_c of the N records, in IEEE doubles. It grows with `size`, is N_c for size N, and, where
/// it is not raised to 1, within half a record of the class's share. Their sum is the size of the
/// subset. With few records of many classes it may be far from `size`: 2,000 for 1,500 of 1,000 classes of 3.
/// \param class_records  N_c. REQUIRES: each above 0; 0 < size <= N < 2^50
std::vector<std::uint64_t> stratum_sizes(std::span<const std::uint64_t> class_records, std::uint64_t size);

/// The stratified subset of this seed with this size: for each class, subset_range of its records. Subsets of
/// one seed are nested.
std::vector<RecordRange> stratified_ranges(std::span<const std::uint64_t> class_records, std::uint64_t size,
                                           std::uint64_t number);

}  // namespace headrace
