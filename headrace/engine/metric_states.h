#pragma once

/// \file The states of a model's metrics that are no means over examples, such as AUC, during one pass over
/// data (docs/formats/traced-model.md, "Metrics").
///
///   HEADRACE_TRY(MetricStates states, MetricStates::start(*model));
///   // for each batch: a step takes states.views() after its other inputs, and states.take(its last outputs)
///   HEADRACE_TRY(const auto values, states.results());

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headrace/engine/engine.h"

namespace headrace {

/// Not thread-safe. Several passes over data have states of their own, and do not disturb each other.
class MetricStates {
 public:
  /// The names of the tensors, as inputs and outputs of the signatures `train_step` and `eval_step`; none if
  /// the model has no such metrics.
  static std::vector<std::string> tensors(const Model& model);

  /// Before the first batch.
  static Result<MetricStates> start(Model& model);

  std::size_t count() const { return states_.size(); }
  /// The states, in the order of `tensors`; borrowed from this, until `take`.
  std::vector<TensorView> views() const;
  /// The states after a batch. REQUIRES: as many as there are
  void take(std::span<Tensor> after);
  /// The metrics' values so far, by their names. A metric of several numbers gives them as NAME_0, NAME_1 ….
  Result<std::map<std::string, double>> results() const;

 private:
  MetricStates(std::unique_ptr<Call> call, std::vector<std::string> metrics, std::vector<Tensor> states)
      : call_(std::move(call)), metrics_(std::move(metrics)), states_(std::move(states)) {}

  std::unique_ptr<Call> call_;  // null: there are no such metrics
  std::vector<std::string> metrics_;
  std::vector<Tensor> states_;
};

}  // namespace headrace
