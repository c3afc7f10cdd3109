#include "headrace/evaluate/predictor.h"

#include <algorithm>
#include <cmath>

#include "headrace/base/text.h"
#include "headrace/engine/encoders.h"
#include "headrace/os/parallel.h"

namespace headrace {
namespace {

constexpr std::size_t kTextsPerTask = 8;  // small, because texts differ much in length

}  // namespace

Status check_predictions(const Tensor& predictions, const ModelOutput& output, std::uint64_t rows) {
  std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(rows)};
  sizes.insert(sizes.end(), output.shape.begin(), output.shape.end());
  if (predictions.type() != DataType::kFloat32 || !Shape(sizes).accepts(predictions.shape())) {
    return Error{Code::kInvalidArgument,
                 concat("the model's output ", output.name, " is ", data_type_name(predictions.type()),
                        predictions.shape().text(), ", not float32", Shape(sizes).text())};
  }
  if (std::ranges::all_of(predictions.values<float>(), [](float value) { return std::isfinite(value); }))
    return {};
  return Error{Code::kInvalidArgument,
               concat("the model's output ", output.name,
                      " holds a value that is not finite; check the model's weights and the features")};
}

Result<Predictor> Predictor::create(const ExportedModel& model) {
  std::vector<std::string> inputs, outputs;
  for (const ModelInput& input : model.contract.binding.inputs) inputs.push_back(input.tensor);
  for (const ModelOutput& output : model.contract.binding.outputs) outputs.push_back(output.tensor);
  HEADRACE_TRY(std::unique_ptr<Call> call,
               model.model->prepare("predict", std::move(inputs), std::move(outputs)));
  return Predictor(std::move(call), model.contract);
}

Predictor::Predictor(std::unique_ptr<Call> call, const ModelContract& contract)
    : call_(std::move(call)),
      outputs_(contract.binding.outputs),
      format_(std::make_shared<const AnswerFormat>(contract)) {}

Result<Answers> Predictor::run(std::span<const TensorView> inputs, std::uint64_t rows) {
  std::vector<Tensor> out(outputs_.size());
  HEADRACE_CHECK(call_->run(inputs, out));
  for (std::size_t i = 0; i < out.size(); ++i) HEADRACE_CHECK(check_predictions(out[i], outputs_[i], rows));
  return Answers(format_, std::move(out), rows);
}

Result<EncoderDescription> text_encoder_of(const ExportedModel& model) {
  const std::vector<ModelInput>& inputs = model.contract.binding.inputs;
  if (inputs.size() == 1) {
    const auto found = model.contract.encoders.find(inputs.front().feature.name);
    if (found != model.contract.encoders.end()) return found->second;
  }
  std::vector<std::string> takes;
  for (const ModelInput& input : inputs) takes.push_back(describe(input.feature));
  return Error{Code::kInvalidArgument,
               concat("the model in ", model.folder.describe(), " takes ", join(takes, ", "),
                      ", not the vector of a text; give --data, or --image for an image, instead of --text")};
}

Status check_encoder(const EncoderDescription& wanted, const TextEncoder& encoder) {
  const EncoderDescription here{encoder.name(), encoder.weights_digest(), encoder.dimension()};
  if (here == wanted) return {};
  const bool is_saved_model = wanted.name.starts_with(kSavedModelEncoderPrefix);
  return Error{Code::kFailedPrecondition,
               concat("the model was trained on vectors of ", describe(wanted), ", but the encoder here is ",
                      describe(here), "; ",
                      is_saved_model ? "restore exactly the files that it had then, or train again"
                                     : "give the folder with the right weights with --encoder-weights")};
}

Result<Answers> predict_texts(const ExportedModel& model, const TextEncoder& encoder,
                              std::span<const std::string> texts, int threads) {
  const auto width = static_cast<std::size_t>(encoder.dimension());
  std::vector<float> features(texts.size() * width);
  const std::size_t tasks = (texts.size() + kTextsPerTask - 1) / kTextsPerTask;
  HEADRACE_CHECK(parallel_for(threads, tasks, [&](std::size_t task) {
    const std::size_t first = task * kTextsPerTask;
    const std::size_t count = std::min(kTextsPerTask, texts.size() - first);
    const std::vector<std::string_view> views(texts.begin() + static_cast<std::ptrdiff_t>(first),
                                              texts.begin() + static_cast<std::ptrdiff_t>(first + count));
    return encoder.encode(views, std::span(features).subspan(first * width, count * width));
  }));
  const TensorView input = TensorView::of(
      features.data(), {static_cast<std::int64_t>(texts.size()), static_cast<std::int64_t>(width)});
  HEADRACE_TRY(Predictor predictor, Predictor::create(model));
  return predictor.run({&input, 1}, texts.size());
}

}  // namespace headrace
