#include "headrace/evaluate/evaluation.h"

#include "headrace/base/json.h"
#include "headrace/track/json_number.h"

namespace headrace {
namespace {

constexpr int kVersion = 1;
constexpr std::size_t kRemarks = 100;

Json metrics_to_json(const std::map<std::string, double>& metrics) {
  Json out = Json::object();
  for (const auto& [name, value] : metrics) out[name] = number_to_json(value);
  return out;
}

Json confusion_to_json(const Evaluation& evaluation) {
  Json counts = Json::array();
  for (std::size_t truth = 0; truth < evaluation.confusion.classes(); ++truth) {
    Json row = Json::array();
    for (std::size_t predicted = 0; predicted < evaluation.confusion.classes(); ++predicted)
      row.push_back(evaluation.confusion.count(truth, predicted));
    counts.push_back(std::move(row));
  }
  return {{"labels", evaluation.labels}, {"counts", std::move(counts)}};
}

Json classes_to_json(const Evaluation& evaluation) {
  Json out = Json::array();
  for (std::size_t label = 0; label < evaluation.confusion.classes(); ++label) {
    const ClassScores scores = evaluation.confusion.scores(label);
    out.push_back({{"label", evaluation.labels[label]},
                   {"precision", scores.precision},
                   {"recall", scores.recall},
                   {"f1", scores.f1},
                   {"support", scores.support}});
  }
  return out;
}

}  // namespace

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
      {"records", evaluation.confusion.records()},
      {"corrupt_records", evaluation.corrupt_records},
      {"metrics", metrics_to_json(evaluation.metrics)},
      {"accuracy", evaluation.confusion.accuracy()},
      {"labels", evaluation.labels},
      {"confusion", confusion_to_json(evaluation)},
      {"classes", classes_to_json(evaluation)},
  };
  const auto loss = evaluation.metrics.find("loss");
  out["loss"] = loss == evaluation.metrics.end() ? Json() : number_to_json(loss->second);
  return out.dump();
}

}  // namespace headrace
