#pragma once

/// \file Reads the class of each record that a run trains on.

#include <cstdint>
#include <functional>
#include <string_view>

#include "headrace/stream/strata.h"
#include "headrace/train/train_run.h"

namespace headrace {

/// Class numbers are below this.
inline constexpr std::int64_t kMostClasses = 100'000;
/// The class number of a record whose class is unknown.
inline constexpr std::int64_t kUnknownClass = -1;

/// Words for messages about a label.
struct ClassAsker {
  std::string_view option;  // the option that needs the classes
  std::string_view advice;  // what to do about a label that is not a class
};

/// Gets the number of a record, counted in dataset order from the first training record, and its class: the
/// label's number, or the position of the 1 in a one-hot label. Returns whether to continue.
using ClassVisitor = std::function<bool(std::uint64_t number, std::int64_t class_number)>;

/// Calls `visit` for each training record, until it returns false. Damaged records that are left out are not
/// visited. Cost: the labels of these records are read once.
/// \error kInvalidArgument  a label is not a class; the message names the record
/// \error those of BatchLoader
/// REQUIRES: the label has numbers
Status visit_classes(const TrainRun& run, const ModelFeature& label, std::uint64_t memory_budget_bytes,
                     const ClassAsker& asker, const ClassVisitor& visit);

/// Divides the training part by the classes of the feature `name`. Records that are left out, because they
/// are damaged or lack the feature, are a stratum of their own. Cost: the feature is read once; the memory
/// of Strata, at most half of the budget.
/// \error kInvalidArgument    there is no such feature, or it cannot be a class
/// \error kResourceExhausted  the budget is too small; the message says how much is needed
/// \error as visit_classes
Result<ReadStrata> read_strata(const TrainRun& run, const std::string& name);

}  // namespace headrace
