#pragma once

/// \file Runs a model's signature over the batches of a loader and adds up its outputs.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/engine/engine.h"
#include "headrace/engine/metric_states.h"
#include "headrace/stream/batch_tensors.h"
#include "headrace/stream/loader.h"

namespace headrace {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Sums over the batches of a pass over data. Exact for metrics; the loss is the mean of the batches' means,
/// weighted by rows.
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

/// A signature that takes the columns of a batch and weights, and returns loss and metrics: run over the
/// batches of one pass over data after another. Not thread-safe.
class StepCall {
 public:
  /// `metrics` as in TracedModel::metric_names. The model must outlive this.
  static Result<StepCall> prepare(Model& model, std::string_view signature, const ModelBinding& binding,
                                  std::vector<std::string> metrics);
  /// Begins the next pass: metrics start anew.
  Status begin_pass();
  /// Feeds the batch's own buffers. Returns the loss.
  /// \error kInvalidArgument  as check_labels, and as check_record_weights if a feature weighs records
  /// \error those of BatchTensors::view and Call::run
  /// REQUIRES: the loader has made the batch, with `columns_for`
  Result<float> run(const Batch& batch, const BatchLoader& loader);
  /// In which the model ran, in this pass so far.
  double model_seconds() const { return model_seconds_; }
  /// "loss" and each metric of this pass so far, under `prefix`.
  Result<std::map<std::string, double>> values(std::string_view prefix) const;

 private:
  StepCall(Model& model, std::unique_ptr<Call> call, const ModelBinding& binding, MetricStates states,
           std::vector<std::string> metrics)
      : model_(&model),
        call_(std::move(call)),
        tensors_(binding.step_features()),
        binding_(binding),
        metrics_(std::move(metrics)),
        sums_(metrics_),
        states_(std::move(states)) {}

  Model* model_;
  std::unique_ptr<Call> call_;
  BatchTensors tensors_;
  ModelBinding binding_;
  std::vector<std::string> metrics_;
  MetricSums sums_;
  MetricStates states_;
  std::vector<TensorView> inputs_;
  double model_seconds_ = 0;
};

}  // namespace headrace
