#include "headrace/evaluate/evaluation.h"

#include <algorithm>
#include <bit>
#include <span>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/evaluate/answers.h"
#include "headrace/track/json_number.h"

namespace headrace {
namespace {

constexpr int kVersion = 2;
constexpr std::size_t kRemarks = 100;
constexpr std::size_t kYes = 1;
constexpr std::size_t kSampledNumbers = 8;  // numbers of an output that are sampled
constexpr std::size_t kSampledPairs = 512;  // pairs sampled of each number

Json metrics_to_json(const std::map<std::string, double>& metrics) {
  Json out = Json::object();
  for (const auto& [name, value] : metrics) out[name] = number_to_json(value);
  return out;
}

Json to_json(const ConfusionMatrix& confusion) {
  Json counts = Json::array();
  for (std::size_t truth = 0; truth < confusion.classes(); ++truth) {
    Json row = Json::array();
    for (std::size_t predicted = 0; predicted < confusion.classes(); ++predicted)
      row.push_back(confusion.count(truth, predicted));
    counts.push_back(std::move(row));
  }
  return counts;
}

Json to_json(const std::string& name, const ClassScores& scores) {
  return {{"label", name},
          {"precision", scores.precision},
          {"recall", scores.recall},
          {"f1", scores.f1},
          {"support", scores.support}};
}

Json calibration_to_json(const BinaryScores& scores) {
  Json out = Json::array();
  for (const CalibrationBin& bin : scores.calibration())
    out.push_back({{"records", bin.records}, {"positives", bin.positives}, {"score_sum", bin.score_sum}});
  return out;
}

void add_classes(const TargetEvaluation& target, Json& out) {
  const ConfusionMatrix& confusion = target.confusion.front();
  out["accuracy"] = confusion.accuracy();
  out["confusion"] = {{"labels", target.classes}, {"counts", to_json(confusion)}};
  for (std::size_t label = 0; label < confusion.classes(); ++label)
    out["classes"].push_back(to_json(target.classes[label], confusion.scores(label)));
}

void add_labels(const TargetEvaluation& target, Json& out) {
  out["accuracy"] = target.accuracy();
  for (std::size_t i = 0; i < target.classes.size(); ++i) {
    Json label = to_json(target.classes[i], target.confusion[i].scores(kYes));
    label["area_under_roc"] = number_to_json(target.scores[i].area_under_roc());
    out["classes"].push_back(std::move(label));
  }
}

// Writes the shortest decimal if the value is a float32.
Json exact_number(double value) {
  const auto single = static_cast<float>(value);
  return number_to_json(single == value ? shortest_double(single) : value);
}

Json pairs_to_json(const std::vector<std::pair<double, double>>& pairs) {
  Json out = Json::array();
  for (const auto& [first, second] : pairs)
    out.push_back(std::vector<Json>{exact_number(first), exact_number(second)});
  return out;
}

Json to_json(const RegressionScores& numbers) {
  Json out = {{"mean_absolute_error", number_to_json(numbers.mean_absolute_error())},
              {"root_mean_squared_error", number_to_json(numbers.root_mean_squared_error())},
              {"mean_residual", number_to_json(numbers.mean_residual())},
              {"r_squared", number_to_json(numbers.r_squared())}};
  const std::vector<RegressionScores::Pair> sample = numbers.sample();
  if (!sample.empty()) out["sample"] = pairs_to_json(sample);
  return out;
}

// Returns the names of classes, or a list of numbers.
Json shown_values(const TargetEvaluation& target, std::span<const double> values, double threshold) {
  std::vector<std::string> names;
  switch (target.kind) {
    case TargetKind::kRegression: {
      Json out = Json::array();
      for (const double value : values) out.push_back(exact_number(value));
      return out;
    }
    case TargetKind::kMultiLabel:
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] > threshold) names.push_back(target.classes[i]);
      }
      return names;
    case TargetKind::kClasses:
    case TargetKind::kBinary:
      break;
  }
  if (values.size() > 1)
    return target.classes[static_cast<std::size_t>(std::ranges::max_element(values) - values.begin())];
  if (target.kind == TargetKind::kBinary) return target.classes[values.front() > threshold ? kYes : 0];
  return target.classes[static_cast<std::size_t>(values.front())];
}

Json truth_of(const TargetEvaluation& target, const WorstRecord& record) {
  std::vector<double> truth = record.truth;
  // The label is one of two classes, written as a 1 among zeros.
  if (target.kind == TargetKind::kBinary && truth.size() > 1) truth = {truth[kYes]};
  constexpr double kBetweenLabels = 0.5;
  return shown_values(target, truth, kBetweenLabels);
}

Json answer_of(const TargetEvaluation& target, const WorstRecord& record) {
  return shown_values(target, std::vector<double>(record.answer.begin(), record.answer.end()),
                      static_cast<double>(yes_threshold(target.meaning)));
}

Json to_json(const TargetEvaluation& target, const WorstRecord& record) {
  return {{"object", record.object},
          {"record", record.record},
          {"error", number_to_json(record.error)},
          {"truth", truth_of(target, record)},
          {"answer", answer_of(target, record)}};
}

std::string text_of(const Json& value) {
  if (value.is_string()) return value.text();
  std::vector<std::string> parts;
  for (const Json& part : value.values()) parts.push_back(part.is_string() ? part.text() : part.dump());
  return parts.empty() ? "none" : join(parts, ", ");
}

Json to_json(const TargetEvaluation& target) {
  Json out = {{"output", target.output}, {"label", target.label}, {"kind", target_kind_name(target.kind)}};
  if (target.meaning != TargetScores::kProbability) out["scores"] = target_scores_name(target.meaning);
  switch (target.kind) {
    case TargetKind::kClasses:
      add_classes(target, out);
      break;
    case TargetKind::kBinary:
      add_classes(target, out);
      out["area_under_roc"] = number_to_json(target.scores.front().area_under_roc());
      if (target.meaning != TargetScores::kMargin)
        out["calibration"] = calibration_to_json(target.scores.front());
      out["roc"] = pairs_to_json(target.scores.front().roc_curve());
      break;
    case TargetKind::kMultiLabel:
      add_labels(target, out);
      break;
    case TargetKind::kRegression:
      for (const RegressionScores& numbers : target.numbers) out["numbers"].push_back(to_json(numbers));
      break;
  }
  out["worst"] = Json::array();
  for (const WorstRecord& record : target.worst.records()) out["worst"].push_back(to_json(target, record));
  return out;
}

}  // namespace

TargetEvaluation TargetEvaluation::of(const ModelTarget& target, std::vector<std::string> classes) {
  TargetEvaluation out{
      .output = target.output, .label = target.label.name, .kind = target.kind, .meaning = target.scores};
  const std::size_t count = classes.size();
  out.classes = std::move(classes);
  if (target.kind == TargetKind::kRegression) {
    for (std::size_t i = 0; i < target.label.size(); ++i)
      out.numbers.emplace_back(i < kSampledNumbers ? kSampledPairs : 0);
  } else if (target.kind == TargetKind::kMultiLabel) {
    out.confusion.resize(count, ConfusionMatrix(2));
    // All labels together take at most 64 MiB, unless they are so many that 16 KiB for each is more.
    const int bits = std::clamp(22 - static_cast<int>(std::bit_width(count)), 10, 20);
    out.scores.resize(count, BinaryScores(bits));
  } else {
    out.confusion.emplace_back(count);
    if (target.kind == TargetKind::kBinary) out.scores.emplace_back(20);
  }
  return out;
}

std::string describe_truth(const TargetEvaluation& target, const WorstRecord& record) {
  return text_of(truth_of(target, record));
}

std::string describe_answer(const TargetEvaluation& target, const WorstRecord& record) {
  return text_of(answer_of(target, record));
}

double TargetEvaluation::accuracy() const {
  double right = 0, all = 0;
  for (const ConfusionMatrix& matrix : confusion) {
    right += matrix.accuracy() * static_cast<double>(matrix.records());
    all += static_cast<double>(matrix.records());
  }
  return all > 0 ? right / all : 0;
}

float yes_threshold(TargetScores scores) { return scores == TargetScores::kProbability ? 0.5F : 0.0F; }

std::string accuracy_name(const TargetEvaluation& target) {
  const std::string name = concat("accuracy of ", target.label);
  if (target.kind == TargetKind::kClasses) return name;
  return concat(name, " (yes above ", yes_threshold(target.meaning), ")");
}

std::map<std::string, double> recorded_metrics(const Evaluation& evaluation) {
  std::map<std::string, double> out = evaluation.metrics;
  for (const TargetEvaluation& target : evaluation.targets) {
    const std::string prefix = evaluation.targets.size() == 1 ? "" : concat(target.output, "_");
    if (target.kind != TargetKind::kRegression) out.emplace(prefix + "accuracy", target.accuracy());
  }
  return out;
}

void add_remark(std::vector<std::string>& remarks, std::string remark) {
  if (remarks.size() >= kRemarks || (!remarks.empty() && remarks.back() == remark)) return;
  remarks.push_back(std::move(remark));
}

std::string evaluation_to_json(const Evaluation& evaluation, std::string_view run_id) {
  Json out = {
      {"format", "headrace.evaluation"},
      {"version", kVersion},
      {"run_id", run_id},
      {"model", evaluation.model.url},
      {"model_digest", evaluation.model.digest},
      {"data", evaluation.data.url},
      {"data_digest", evaluation.data.digest},
      {"split", evaluation.split},
      {"records", evaluation.records},
      {"corrupt_records", evaluation.corrupt_records},
      {"metrics", metrics_to_json(evaluation.metrics)},
      {"targets", Json::array()},
  };
  if (!evaluation.weights.empty()) out["weights"] = evaluation.weights;
  for (const TargetEvaluation& target : evaluation.targets) out["targets"].push_back(to_json(target));
  const auto loss = evaluation.metrics.find("loss");
  out["loss"] = loss == evaluation.metrics.end() ? Json() : number_to_json(loss->second);
  return out.dump();
}

}  // namespace headrace
