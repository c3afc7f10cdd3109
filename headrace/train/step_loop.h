#pragma once

/// \file Runs a model's signature on the batches of a loader, and sums its outputs.

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

/// Sums over the batches of one pass over the data. Metrics are exact; the loss is the mean of the batches'
/// losses, weighted by rows.
class MetricSums {
 public:
  /// `names` is as TracedModel::metric_names: the first value counts rows.
  explicit MetricSums(std::vector<std::string> names) : names_(std::move(names)), sums_(names_.size(), 0.0) {}
  void add(double loss, std::span<const float> metrics);
  std::uint64_t rows() const { return static_cast<std::uint64_t>(sums_.front()); }
  /// "loss" and each metric; the names begin with `prefix`.
  std::map<std::string, double> values(std::string_view prefix) const;

 private:
  std::vector<std::string> names_;
  std::vector<double> sums_;
  double loss_sum_ = 0;
};

/// A signature that takes the columns and weights of a batch and returns the loss and metrics. Each pass over
/// the data runs it on all batches. Not thread-safe.
class StepCall {
 public:
  /// `metrics` is as TracedModel::metric_names. The model must outlive the call.
  static Result<StepCall> prepare(Model& model, std::string_view signature, const ModelBinding& binding,
                                  std::vector<std::string> metrics);
  /// Begins the next pass: resets the metrics.
  Status begin_pass();
  /// Runs the signature on a batch, whose buffers are not copied. Returns the loss.
  /// \error kInvalidArgument  as check_labels, and as check_record_weights if a feature weighs records
  /// \error those of BatchTensors::view and Call::run
  /// REQUIRES: the loader has made the batch, with the options of `columns_for`
  Result<float> run(const Batch& batch, const BatchLoader& loader);
  /// Time that the model has run in this pass.
  double model_seconds() const { return model_seconds_; }
  /// "loss" and each metric of this pass so far; the names begin with `prefix`.
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
