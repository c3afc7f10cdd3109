#pragma once

/// \file Runs a model's signature over the batches of a loader and adds up its outputs.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/engine/engine.h"
#include "headrace/stream/batch_tensors.h"
#include "headrace/stream/loader.h"

namespace headrace {

/// Sums over the batches of an epoch. Exact for metrics; the loss is the mean of the batches' means, weighted
/// by rows.
class MetricSums {
 public:
  /// `names` as in TracedModel::metric_names: the first counts rows.
  explicit MetricSums(std::vector<std::string> names) : names_(std::move(names)), sums_(names_.size(), 0.0) {}
  void add(double loss, std::span<const float> metrics);
  std::uint64_t rows() const { return static_cast<std::uint64_t>(sums_.front()); }
  /// "loss" and each metric, under `prefix`.
  std::map<std::string, double> values(std::string_view prefix) const;

 private:
  std::vector<std::string> names_;
  std::vector<double> sums_;
  double loss_sum_ = 0;
};

/// A signature that takes the columns of a batch and weights, and returns loss and metrics. Not thread-safe.
class StepCall {
 public:
  static Result<StepCall> prepare(Model& model, std::string_view signature, const ModelBinding& binding);
  /// Feeds the batch's own buffers. Returns the loss; adds to `sums`. REQUIRES: the batch has `columns_for`
  Result<float> run(const Batch& batch, MetricSums& sums);

 private:
  StepCall(std::unique_ptr<Call> call, BatchTensors tensors)
      : call_(std::move(call)), tensors_(std::move(tensors)) {}
  std::unique_ptr<Call> call_;
  BatchTensors tensors_;
  std::vector<TensorView> inputs_;
};

}  // namespace headrace
