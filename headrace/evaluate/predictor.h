#pragma once

/// \file A model's answers to features, and to texts.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headrace/engine/encoder.h"
#include "headrace/evaluate/answers.h"
#include "headrace/evaluate/exported_model.h"

namespace headrace {

/// Checks an output of a model.
/// \error kInvalidArgument  it is not float32 of shape [rows, *output.shape], or a value is not finite
Status check_predictions(const Tensor& predictions, const ModelOutput& output, std::uint64_t rows);

/// Calls the model's `predict`. Not thread-safe, but several predictors of one model may run at the same
/// time.
class Predictor {
 public:
  /// `model` must outlive the predictor. \error of the model
  static Result<Predictor> create(const ExportedModel& model);
  /// Answers `rows` rows. `inputs` as in the contract, each with `rows` rows. Numbers aligned to
  /// kTensorAlignment are not copied.
  /// \error kInvalidArgument  as `check_predictions`
  /// \error of the model
  Result<Answers> run(std::span<const TensorView> inputs, std::uint64_t rows);

 private:
  Predictor(std::unique_ptr<Call> call, const ModelContract& contract);
  std::unique_ptr<Call> call_;
  const std::vector<ModelOutput>& outputs_;
  std::shared_ptr<const AnswerFormat> format_;
};

/// The encoder of the model's only input, which must be the vector of a text.
/// \error kInvalidArgument  the model takes something else; the message says what
Result<EncoderDescription> text_encoder_of(const ExportedModel& model);

/// Checks that `encoder` is the one that the model was trained with.
/// \error kFailedPrecondition  it is another one; the message names both
Status check_encoder(const EncoderDescription& wanted, const TextEncoder& encoder);

/// The answers to texts, which are encoded on `threads` threads.
/// REQUIRES: the encoder is that of text_encoder_of
Result<Answers> predict_texts(const ExportedModel& model, const TextEncoder& encoder,
                              std::span<const std::string> texts, int threads);

}  // namespace headrace
