#pragma once

/// \file Weights of classes in the training loss: given by an option, or balanced, so that all classes count
/// equally.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/engine/tensorflow/trace.h"

namespace headrace {

struct TrainRun;

/// The value of --class-weights that asks for balanced_class_weights.
inline constexpr std::string_view kBalanced = "balanced";

/// Parses a text such as "spam=5,ham=1". Returns number of a class → its weight. `vocabulary` has the names
/// of the classes in the order of their numbers; if it is empty, the text has the numbers.
/// \error kInvalidArgument  the text does not have this form; a class is unknown or occurs twice; a weight is
///                          negative or not finite
Result<std::map<std::uint64_t, double>> parse_class_weights(std::string_view text,
                                                            const std::vector<std::string>& vocabulary);

/// The weight n / (k · n_c) for each class c that occurs, where n records have k classes and n_c of them have
/// class c. The mean weight of all records is then 1, and each class has the same total weight. −1 counts as
/// class 0 if the only other class is 1, as in hinge losses; otherwise it is not a class.
std::map<std::uint64_t, double> balanced_class_weights(const std::map<std::int64_t, std::uint64_t>& counts);

/// `run.request` with the class weights that the options ask for. Cost: for balanced weights, the labels of
/// the training part are read once, unless the manifest has their counts.
/// \error kInvalidArgument  a label is neither a class number nor one-hot; the message names the record
/// \error those of BatchLoader
Result<TraceRequest> weighed_request(const TrainRun& run);

/// The classes of the label that no training record has. Classes of which the manifest says that no record of
/// the split has them are left out. Empty if the label has no vocabulary, or if a record has several classes
/// or none. Cost: labels of the training part are read until every class has been seen.
/// \error those of BatchLoader
Result<std::vector<std::string>> missing_classes(const TrainRun& run);

}  // namespace headrace
