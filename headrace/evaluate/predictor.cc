#include "headrace/evaluate/predictor.h"

#include <array>
#include <charconv>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/evaluate/confusion_matrix.h"
#include "headrace/os/parallel.h"

namespace headrace {
namespace {

constexpr std::size_t kTextsPerTask = 8;  // texts differ in length by far: small tasks even that out

// The double whose shortest text is that of the float.
double shortest(float value) {
  std::array<char, 32> digits{};
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  double out = 0;
  std::from_chars(digits.data(), end, out);
  return out;
}

}  // namespace

Status check_predictions(const Tensor& predictions, std::uint64_t rows, std::size_t classes) {
  const Shape wanted = {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(classes)};
  if (predictions.type() != DataType::kFloat32 || !(predictions.shape() == wanted)) {
    return Error{Code::kInvalidArgument,
                 concat("the model gives predictions of ", data_type_name(predictions.type()),
                        predictions.shape().text(), "; wanted is one score a class, float32", wanted.text())};
  }
  for (std::size_t row = 0; row < rows; ++row) {
    if (!highest(predictions.values<float>().subspan(row * classes, classes)))
      return Error{Code::kInvalidArgument,
                   "the model's predictions are not finite numbers: nor are its weights or "
                   "the features"};
  }
  return {};
}

Result<Predictor> Predictor::create(const ExportedModel& model) {
  HEADRACE_TRY(std::unique_ptr<Call> call, model.model->prepare("predict", {"features"}, {"predictions"}));
  return Predictor(std::move(call), model.attributes.features_width, model.attributes.labels.size());
}

Result<Tensor> Predictor::run(const float* features, std::uint64_t rows) {
  const TensorView input =
      TensorView::of(features, {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(width_)});
  Tensor output;
  HEADRACE_CHECK(call_->run({&input, 1}, {&output, 1}));
  HEADRACE_CHECK(check_predictions(output, rows, classes_));
  return output;
}

Result<std::vector<std::vector<float>>> predict_texts(const ExportedModel& model, const TextEncoder& encoder,
                                                      std::span<const std::string> texts, int threads) {
  if (texts.empty()) return std::vector<std::vector<float>>();
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
  HEADRACE_TRY(Predictor predictor, Predictor::create(model));
  HEADRACE_TRY(const Tensor predictions, predictor.run(features.data(), texts.size()));
  std::vector<std::vector<float>> out;
  const std::size_t classes = model.attributes.labels.size();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::span<const float> row = predictions.values<float>().subspan(i * classes, classes);
    out.emplace_back(row.begin(), row.end());
  }
  return out;
}

std::string prediction_to_json(const std::vector<std::string>& labels, std::span<const float> scores,
                               const std::optional<std::pair<std::string, std::string_view>>& about) {
  // In the order of the format, not of the names.
  std::string out = "{";
  if (about) out += concat(Json(about->first).dump(), ":", Json(about->second).dump(), ",");
  out += concat("\"label\":", Json(labels[highest(scores).value_or(0)]).dump(), ",\"probabilities\":{");
  for (std::size_t i = 0; i < scores.size(); ++i)
    out += concat(i > 0 ? "," : "", Json(labels[i]).dump(), ":", Json(shortest(scores[i])).dump());
  return out + "}}";
}

}  // namespace headrace
