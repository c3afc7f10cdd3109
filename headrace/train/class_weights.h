#pragma once

/// \file Weights of classes in the loss of training: those that an option names, or such that all classes
/// count alike.

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

/// Number of a class → its weight, of a text such as "spam=5,ham=1". `vocabulary`: the names of the classes
/// in the order of their numbers; empty: the label has numbers, which the text gives.
/// \error kInvalidArgument  not of this form, an unknown class, one that is there twice, or a weight that is
///                          not finite or below 0
Result<std::map<std::uint64_t, double>> parse_class_weights(std::string_view text,
                                                            const std::vector<std::string>& vocabulary);

/// The weight n / (k · n_c) for each class c that occurs: of n records in k classes, n_c are of class c. So
/// the mean of all records' weights is 1, and each class has the same share of them. −1 counts as class 0 if
/// the only other one is 1, as hinge losses have it; otherwise as no class.
std::map<std::uint64_t, double> balanced_class_weights(const std::map<std::int64_t, std::uint64_t>& counts);

/// `run.request` with the weights of classes. Cost, of balanced ones: the labels of the training part are
/// read once, unless the manifest has counted them.
/// \error kInvalidArgument  a label is not the number of a class, or a 1 among zeros: names the record
/// \error those of BatchLoader
Result<TraceRequest> weighed_request(const TrainRun& run);

/// The classes of the label that occur in the split, as far as the manifest tells, but in no record that is
/// trained on. Empty if the label has no vocabulary, or a record has several classes or none. Cost: labels of
/// the training part are read until each class has been seen.
/// \error those of BatchLoader
Result<std::vector<std::string>> missing_classes(const TrainRun& run);

}  // namespace headrace
