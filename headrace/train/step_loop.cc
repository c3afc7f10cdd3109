#include "headrace/train/step_loop.h"

#include <algorithm>
#include <iterator>

#include "headrace/base/text.h"
#include "headrace/stream/label_check.h"
#include "headrace/stream/record_weights.h"

namespace headrace {

void MetricSums::add(double loss, std::span<const float> metrics) {
  for (std::size_t i = 0; i < sums_.size() && i < metrics.size(); ++i) sums_[i] += metrics[i];
  if (!metrics.empty()) loss_sum_ += loss * metrics.front();
}

std::map<std::string, double> MetricSums::values(std::string_view prefix) const {
  const double rows = sums_.front() > 0 ? sums_.front() : 1;
  std::map<std::string, double> out;
  out[concat(prefix, "loss")] = loss_sum_ / rows;
  for (std::size_t i = 1; i < names_.size(); ++i) out[concat(prefix, names_[i])] = sums_[i] / rows;
  return out;
}

Result<StepCall> StepCall::prepare(Model& model, std::string_view signature, const ModelBinding& binding,
                                   std::vector<std::string> metrics) {
  std::vector<std::string> inputs = binding.step_tensors(), outputs = {"loss", "metrics"};
  for (const std::string& state : MetricStates::tensors(model)) {
    inputs.push_back(state);
    outputs.push_back(state);
  }
  HEADRACE_TRY(std::unique_ptr<Call> call, model.prepare(signature, std::move(inputs), std::move(outputs)));
  HEADRACE_TRY(MetricStates states, MetricStates::start(model));
  return StepCall(model, std::move(call), binding, std::move(states), std::move(metrics));
}

Status StepCall::begin_pass() {
  sums_ = MetricSums(metrics_);
  model_seconds_ = 0;
  HEADRACE_TRY(states_, MetricStates::start(*model_));
  return {};
}

Result<float> StepCall::run(const Batch& batch, const BatchLoader& loader) {
  HEADRACE_TRY(const std::span<const TensorView> columns, tensors_.view(batch, batch.rows));
  HEADRACE_CHECK(check_labels(binding_, columns, batch, loader));
  if (binding_.weights)
    HEADRACE_CHECK(check_record_weights(*binding_.weights, columns.back(), batch, loader));
  inputs_.assign(columns.begin(), columns.end());
  inputs_.push_back(TensorView::of(batch.weights(), {static_cast<std::int64_t>(batch.rows)}));
  std::ranges::copy(states_.views(), std::back_inserter(inputs_));
  std::vector<Tensor> outputs(2 + states_.count());
  const auto start = std::chrono::steady_clock::now();
  HEADRACE_CHECK(call_->run(inputs_, outputs));
  model_seconds_ += seconds_since(start);
  const std::span<const float> loss = outputs[0].values<float>();
  if (loss.empty()) return Error{Code::kInternal, "the model's loss is not a float32"};
  sums_.add(loss[0], outputs[1].values<float>());
  states_.take(std::span(outputs).subspan(2));
  return loss[0];
}

Result<std::map<std::string, double>> StepCall::values(std::string_view prefix) const {
  std::map<std::string, double> out = sums_.values(prefix);
  HEADRACE_TRY(const auto results, states_.results());
  for (const auto& [name, value] : results) out[concat(prefix, name)] = value;
  return out;
}

}  // namespace headrace
