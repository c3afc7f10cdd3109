#include "headrace/engine/metric_states.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::string_view kReset = "reset_metrics";
constexpr std::string_view kResults = "metric_results";

std::vector<std::string> outputs_of(const Model& model, std::string_view signature) {
  std::vector<std::string> names;
  const auto found = model.signatures().find(signature);
  if (found == model.signatures().end()) return names;
  for (const auto& [name, info] : found->second.outputs) names.push_back(name);
  return names;
}

}  // namespace

std::vector<std::string> MetricStates::tensors(const Model& model) { return outputs_of(model, kReset); }

Result<MetricStates> MetricStates::start(Model& model) {
  const std::vector<std::string> names = tensors(model);
  if (names.empty()) return MetricStates(nullptr, {}, {});
  HEADRACE_TRY(const std::unique_ptr<Call> reset, model.prepare(kReset, {}, names));
  std::vector<Tensor> states(names.size());
  HEADRACE_CHECK(reset->run({}, states));
  std::vector<std::string> metrics = outputs_of(model, kResults);
  HEADRACE_TRY(std::unique_ptr<Call> results, model.prepare(kResults, names, metrics));
  return MetricStates(std::move(results), std::move(metrics), std::move(states));
}

std::vector<TensorView> MetricStates::views() const {
  std::vector<TensorView> out;
  for (const Tensor& state : states_) out.push_back(state.view());
  return out;
}

void MetricStates::take(std::span<Tensor> after) { std::ranges::move(after, states_.begin()); }

Result<std::map<std::string, double>> MetricStates::results() const {
  std::map<std::string, double> out;
  if (!call_) return out;
  std::vector<Tensor> values(metrics_.size());
  HEADRACE_CHECK(call_->run(views(), values));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::span<const float> numbers = values[i].values<float>();
    if (numbers.size() == 1) {
      out[metrics_[i]] = static_cast<double>(numbers.front());
      continue;
    }
    for (std::size_t k = 0; k < numbers.size(); ++k)
      out.emplace(concat(metrics_[i], "_", k), static_cast<double>(numbers[k]));
  }
  return out;
}

}  // namespace headrace
