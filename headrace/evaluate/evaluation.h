#pragma once

/// \file The result of an evaluation. Format of the object: docs/formats/evaluation.md.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/engine/model_binding.h"
#include "headrace/evaluate/binary_scores.h"
#include "headrace/evaluate/confusion_matrix.h"
#include "headrace/evaluate/regression_scores.h"
#include "headrace/evaluate/worst_records.h"

namespace headrace {

/// A published folder, as results name it.
struct EvaluatedInput {
  std::string url;
  std::string digest;  // SHA-256 (hex) of its manifest
};

/// How well an output agrees with a label. The kind determines which members are used.
struct TargetEvaluation {
  std::string output;
  std::string label;
  TargetKind kind = TargetKind::kClasses;
  TargetScores meaning = TargetScores::kProbability;  // of the output's numbers
  std::vector<std::string> classes;                   // names; a binary target has two; none for regression
  std::vector<ConfusionMatrix> confusion;  // classes, binary: one; multi-label: no and yes, for each label
  std::vector<BinaryScores> scores;        // binary: one; multi-label: one for each label
  std::vector<RegressionScores> numbers;   // regression: one for each number of the output
  WorstRecords worst;

  /// The evaluation of a target, without records yet.
  static TargetEvaluation of(const ModelTarget& target, std::vector<std::string> classes);
  /// The share of right answers; for a multi-label target, over all labels. 0 without records.
  /// REQUIRES: kind is not kRegression
  double accuracy() const;
};

struct Evaluation {
  EvaluatedInput model;
  EvaluatedInput data;
  std::string split;
  std::vector<TargetEvaluation> targets;
  std::uint64_t records = 0;
  /// "loss", and the metrics that the model was compiled with, over all records.
  std::map<std::string, double> metrics;
  std::string weights{};              // the feature that weighted records in the loss; empty: none
  std::uint64_t corrupt_records = 0;  // left out
  std::uint64_t fetched_bytes = 0;    // from the store
  std::vector<std::string> remarks;   // for people
};

/// A record's label, and the model's answer, for people: "cat", "sport, money", "3.5, 2.0".
std::string describe_truth(const TargetEvaluation& target, const WorstRecord& record);
std::string describe_answer(const TargetEvaluation& target, const WorstRecord& record);

/// The numbers of a binary or multi-label output above this threshold mean yes.
float yes_threshold(TargetScores scores);

/// The name of the target's accuracy, for people: "accuracy of rich"; if a threshold decides, "accuracy of
/// rich (yes above 0.5)". The model's own metric `accuracy` may have another threshold.
/// REQUIRES: kind is not kRegression
std::string accuracy_name(const TargetEvaluation& target);

/// The numbers that the record of a run keeps: `metrics`, and the accuracy of each target. The accuracy is
/// named "accuracy", or "<output>_accuracy" if there are several targets. A metric of the model with the same
/// name takes precedence.
std::map<std::string, double> recorded_metrics(const Evaluation& evaluation);

/// Appends a remark, unless there are a hundred or the last one is the same.
void add_remark(std::vector<std::string>& remarks, std::string remark);

/// Canonical JSON: keys sorted, no white space, no newline. Numbers that JSON lacks become texts.
/// `run_id` names the run that evaluated.
std::string evaluation_to_json(const Evaluation& evaluation, std::string_view run_id);

inline constexpr std::size_t kEvaluationPageBytes = 2 << 20;
/// A page for people, of at most kEvaluationPageBytes, that needs nothing else: no script, no network.
/// Everything that comes from data and model is escaped. The same arguments give the same page.
std::string evaluation_to_html(const Evaluation& evaluation, std::string_view run_id);

}  // namespace headrace
