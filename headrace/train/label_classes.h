#pragma once

/// \file The class of each record that a run trains on.

#include <cstdint>
#include <functional>
#include <string_view>

#include "headrace/stream/strata.h"
#include "headrace/train/train_run.h"

namespace headrace {

/// The number of a class is below this.
inline constexpr std::int64_t kMostClasses = 100'000;
/// In place of the number of a class, in data that have such records: it is not known.
inline constexpr std::int64_t kUnknownClass = -1;

/// Words for messages about a label.
struct ClassAsker {
  std::string_view option;  // that needs the classes
  std::string_view advice;  // on a label that is no class
};

/// Takes a record's number, in dataset order from the first one that is trained on, and its class: the
/// label's number, or the place of the only 1 among zeros. Returns whether to go on.
using ClassVisitor = std::function<bool(std::uint64_t number, std::int64_t class_number)>;

/// Calls `visit` for each record, until it returns false. Damaged records that are left out are not visited.
/// Cost: the labels of these records are read once. REQUIRES: the label has numbers
/// \error kInvalidArgument  a label is none: names the record
/// \error those of BatchLoader
Status visit_classes(const TrainRun& run, const ModelFeature& label, std::uint64_t memory_budget_bytes,
                     const ClassAsker& asker, const ClassVisitor& visit);

/// The whole training part by the classes of the feature `name`; records that are left out, since
/// they are damaged or lack the feature, are a stratum of their own. Cost: the feature is read once. Memory:
/// that of Strata, at most half of the budget.
/// \error kInvalidArgument    there is no such feature, or it is no label
/// \error kResourceExhausted  the budget is too small: says how much it takes
/// \error as visit_classes
Result<ReadStrata> read_strata(const TrainRun& run, const std::string& name);

}  // namespace headrace
