#include "headrace/evaluate/evaluation.h"

#include <algorithm>
#include <bit>

#include "headrace/base/json.h"
#include "headrace/track/json_number.h"

namespace headrace {
namespace {

constexpr int kVersion = 2;
constexpr std::size_t kRemarks = 100;
constexpr std::size_t kYes = 1;

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

Json to_json(const RegressionScores& numbers) {
  return {{"mean_absolute_error", number_to_json(numbers.mean_absolute_error())},
          {"root_mean_squared_error", number_to_json(numbers.root_mean_squared_error())},
          {"mean_residual", number_to_json(numbers.mean_residual())},
          {"r_squared", number_to_json(numbers.r_squared())}};
}

Json to_json(const TargetEvaluation& target) {
  Json out = {{"output", target.output}, {"label", target.label}, {"kind", target_kind_name(target.kind)}};
  switch (target.kind) {
    case TargetKind::kClasses:
      add_classes(target, out);
      break;
    case TargetKind::kBinary:
      add_classes(target, out);
      out["area_under_roc"] = number_to_json(target.scores.front().area_under_roc());
      out["calibration"] = calibration_to_json(target.scores.front());
      break;
    case TargetKind::kMultiLabel:
      add_labels(target, out);
      break;
    case TargetKind::kRegression:
      for (const RegressionScores& numbers : target.numbers) out["numbers"].push_back(to_json(numbers));
      break;
  }
  return out;
}

}  // namespace

TargetEvaluation TargetEvaluation::of(const ModelTarget& target, std::vector<std::string> classes) {
  TargetEvaluation out{.output = target.output, .label = target.label.name, .kind = target.kind};
  const std::size_t count = classes.size();
  out.classes = std::move(classes);
  if (target.kind == TargetKind::kRegression) {
    out.numbers.resize(target.label.size());
  } else if (target.kind == TargetKind::kMultiLabel) {
    out.confusion.resize(count, ConfusionMatrix(2));
    // Many labels take 64 MiB at most, but 16 KiB each.
    const int bits = std::clamp(22 - static_cast<int>(std::bit_width(count)), 10, 20);
    out.scores.resize(count, BinaryScores(bits));
  } else {
    out.confusion.emplace_back(count);
    if (target.kind == TargetKind::kBinary) out.scores.emplace_back(20);
  }
  return out;
}

double TargetEvaluation::accuracy() const {
  double right = 0, all = 0;
  for (const ConfusionMatrix& matrix : confusion) {
    right += matrix.accuracy() * static_cast<double>(matrix.records());
    all += static_cast<double>(matrix.records());
  }
  return all > 0 ? right / all : 0;
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
  for (const TargetEvaluation& target : evaluation.targets) out["targets"].push_back(to_json(target));
  const auto loss = evaluation.metrics.find("loss");
  out["loss"] = loss == evaluation.metrics.end() ? Json() : number_to_json(loss->second);
  return out.dump();
}

}  // namespace headrace
