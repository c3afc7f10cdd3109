#pragma once

/// \file The result of an evaluation. Format of the object: docs/formats/evaluation.md.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/evaluate/confusion_matrix.h"

namespace headrace {

/// A published folder, as results name it.
struct EvaluatedInput {
  std::string url;
  std::string digest;  // SHA-256 (hex) of its manifest
};

struct Evaluation {
  EvaluatedInput model;
  EvaluatedInput data;
  std::string split;
  std::vector<std::string> labels;
  ConfusionMatrix confusion{0};
  /// "loss", and the metrics that the model was compiled with, over all records.
  std::map<std::string, double> metrics;
  std::uint64_t corrupt_records = 0;  // left out
  std::uint64_t fetched_bytes = 0;    // from the store
  std::vector<std::string> remarks;   // for people
};

/// Appends a remark, unless there are a hundred or the last one says the same.
void add_remark(std::vector<std::string>& remarks, std::string remark);

/// Canonical JSON: keys sorted, no white space, no newline. Numbers that JSON lacks become texts.
/// `run_id` names the run that evaluated.
std::string evaluation_to_json(const Evaluation& evaluation, std::string_view run_id);

}  // namespace headrace
