#pragma once

/// \file Keeps the states of a model's metrics during one pass over data, for metrics that are not means over
/// examples, such as AUC (docs/formats/traced-model.md, "Metrics").
///
///   HEADRACE_TRY(MetricStates states, MetricStates::start(*model));
///   // for each batch: pass states.views() as the step's last inputs, then states.take(its last outputs)
///   HEADRACE_TRY(const auto values, states.results());

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headrace/engine/engine.h"

namespace headrace {

/// The states of one pass. Several passes over data, each with its own states, do not affect each other. Not
/// thread-safe.
class MetricStates {
 public:
  /// The names of the states among the inputs and outputs of the signatures `train_step` and `eval_step`.
  /// Empty if the model has no such metrics.
  static std::vector<std::string> tensors(const Model& model);

  /// The states before the first batch: runs the signature `reset_metrics`.
  /// \error *  as for `Model::prepare` and `Call::run`
  static Result<MetricStates> start(Model& model);

  std::size_t count() const { return states_.size(); }
  /// Views of the states, in the order of `tensors`. Valid until the next `take`.
  std::vector<TensorView> views() const;
  /// Takes over the states after a batch. REQUIRES: after.size() == count()
  void take(std::span<Tensor> after);
  /// The metrics' values so far, by name: runs the signature `metric_results`. A metric with several numbers
  /// gives NAME_0, NAME_1 ….
  /// \error *  as for `Call::run`
  Result<std::map<std::string, double>> results() const;

 private:
  MetricStates(std::unique_ptr<Call> call, std::vector<std::string> metrics, std::vector<Tensor> states)
      : call_(std::move(call)), metrics_(std::move(metrics)), states_(std::move(states)) {}

  std::unique_ptr<Call> call_;  // null: the model has no such metrics
  std::vector<std::string> metrics_;
  std::vector<Tensor> states_;
};

}  // namespace headrace
