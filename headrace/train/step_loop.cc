#include "headrace/train/step_loop.h"

#include <array>

#include "headrace/base/text.h"

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

Result<StepCall> StepCall::prepare(Model& model, std::string_view signature, const ModelBinding& binding) {
  std::vector<std::string> names;
  for (const ModelInput& input : binding.inputs) names.push_back(input.tensor);
  for (const ModelTarget& target : binding.targets) names.push_back(target.tensor);
  names.emplace_back("weights");
  HEADRACE_TRY(std::unique_ptr<Call> call, model.prepare(signature, std::move(names), {"loss", "metrics"}));
  return StepCall(std::move(call), BatchTensors(binding.step_features()));
}

Result<float> StepCall::run(const Batch& batch, MetricSums& sums) {
  HEADRACE_TRY(const std::span<const TensorView> columns, tensors_.view(batch, batch.rows));
  inputs_.assign(columns.begin(), columns.end());
  inputs_.push_back(TensorView::of(batch.weights(), {static_cast<std::int64_t>(batch.rows)}));
  std::array<Tensor, 2> outputs;
  HEADRACE_CHECK(call_->run(inputs_, outputs));
  const std::span<const float> loss = outputs[0].values<float>();
  if (loss.empty()) return Error{Code::kInternal, "the model's loss is not a float32"};
  sums.add(loss[0], outputs[1].values<float>());
  return loss[0];
}

}  // namespace headrace
