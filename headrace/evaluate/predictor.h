#pragma once

/// \file A model's answers: to features, and to texts.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/engine/encoder.h"
#include "headrace/evaluate/exported_model.h"

namespace headrace {

/// \error kInvalidArgument  not `rows` × `classes` of float32, or a value in it is not finite
Status check_predictions(const Tensor& predictions, std::uint64_t rows, std::size_t classes);

/// Calls the model's `predict`. Not thread-safe, but several predictors of one model may run at the same
/// time.
class Predictor {
 public:
  static Result<Predictor> create(const ExportedModel& model);
  /// Takes `rows` rows of the model's features; returns `rows` rows of one score per class. Features aligned
  /// to kTensorAlignment are not copied.
  /// \error kInvalidArgument  as `check_predictions`
  Result<Tensor> run(const float* features, std::uint64_t rows);

 private:
  Predictor(std::unique_ptr<Call> call, std::uint64_t width, std::size_t classes)
      : call_(std::move(call)), width_(width), classes_(classes) {}
  std::unique_ptr<Call> call_;
  std::uint64_t width_;
  std::size_t classes_;
};

/// Scores of each text in the order of the model's labels. Texts are encoded on `threads` threads.
/// REQUIRES: check_encoder(model.attributes, encoder)
Result<std::vector<std::vector<float>>> predict_texts(const ExportedModel& model, const TextEncoder& encoder,
                                                      std::span<const std::string> texts, int threads);

/// {"text": "…", "label": "pos", "probabilities": {"pos": 0.9, "neg": 0.1}} without a newline; the first
/// member is `about`, if there is one. Numbers are the shortest that give the same float32; invalid UTF-8
/// becomes U+FFFD. REQUIRES: as many scores as labels, all of them finite
std::string prediction_to_json(const std::vector<std::string>& labels, std::span<const float> scores,
                               const std::optional<std::pair<std::string, std::string_view>>& about);

}  // namespace headrace
