#include "headrace/engine/adapted_model.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/engine/tensor_cast.h"

namespace headrace {
namespace {

constexpr std::string_view kEvaluating = "eval_step";
constexpr std::size_t kSums = 2;  // eval_step returns the loss and the metrics before the model's own outputs

// The shape of the input with the given number of rows, if it has as many values as `given`. Otherwise
// `given`.
Shape shape_for(const TensorInfo& info, const Shape& given) {
  if (!info.shape || info.shape->accepts(given)) return given;
  std::vector<std::int64_t> sizes(info.shape->sizes().begin(), info.shape->sizes().end());
  if (sizes.empty() || given.rank() == 0) return given;
  sizes[0] = given[0];
  if (std::ranges::any_of(sizes, [](std::int64_t size) { return size < 0; })) return given;
  const Shape wanted(sizes);
  return wanted.elements() == given.elements() ? wanted : given;
}

// The rows whose weight is not 0.
Tensor kept_rows(Tensor from, std::span<const float> weights) {
  const bool has_rows =
      from.shape().rank() > 0 && static_cast<std::size_t>(from.shape()[0]) == weights.size();
  const auto kept = static_cast<std::size_t>(std::ranges::count_if(weights, [](float w) { return w != 0; }));
  if (!has_rows || kept == weights.size()) return from;
  std::vector<std::int64_t> sizes(from.shape().sizes().begin(), from.shape().sizes().end());
  sizes[0] = static_cast<std::int64_t>(kept);
  const std::span<const float> values = from.values<float>();
  const std::size_t size = values.size() / weights.size();
  auto out = std::make_shared<std::vector<float>>();
  out->reserve(kept * size);
  for (std::size_t row = 0; row < weights.size(); ++row) {
    if (weights[row] == 0) continue;
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * size);
    out->insert(out->end(), begin, begin + static_cast<std::ptrdiff_t>(size));
  }
  return {DataType::kFloat32, Shape(sizes), out->data(), out};
}

class AdaptedCall final : public Call {
 public:
  /// \param inputs  what the signature takes, in the order of the call
  AdaptedCall(std::unique_ptr<Call> call, std::vector<std::pair<std::string, TensorInfo>> inputs,
              std::vector<std::string> outputs, bool has_weights)
      : call_(std::move(call)),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        has_weights_(has_weights) {}

  Status run(std::span<const TensorView> inputs, std::span<Tensor> outputs) override {
    const std::size_t first = has_weights_ ? kSums : 0;
    if (inputs.size() < inputs_.size() + (has_weights_ ? 1 : 0) || outputs.size() != first + outputs_.size())
      return Error{Code::kInvalidArgument,
                   "the model is called with other inputs or outputs than it was prepared for"};
    std::vector<TensorView> views;
    std::vector<Tensor> casts;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      HEADRACE_CHECK(add_input(i, inputs[i], views, casts));
    }
    std::vector<Tensor> results(outputs_.size());
    HEADRACE_CHECK(call_->run(views, results));
    for (std::size_t i = 0; i < results.size(); ++i) {
      HEADRACE_TRY(Tensor answer, as_floats(outputs_[i], std::move(results[i])));
      outputs[first + i] =
          has_weights_ ? kept_rows(std::move(answer), weights_of(inputs)) : std::move(answer);
    }
    for (std::size_t i = 0; i < first; ++i) outputs[i] = Tensor();
    return {};
  }

 private:
  static std::span<const float> weights_of(std::span<const TensorView> inputs) {
    const TensorView& weights = inputs.back();
    return {static_cast<const float*>(weights.data), weights.shape.elements()};
  }

  Status add_input(std::size_t i, TensorView view, std::vector<TensorView>& views,
                   std::vector<Tensor>& casts) const {
    const auto& [name, info] = inputs_[i];
    if (view.type != info.type && view.type != DataType::kBytes) {
      HEADRACE_TRY(Tensor cast, cast_tensor(concat("the input ", name), view, info.type));
      casts.push_back(std::move(cast));
      view = casts.back().view();
    }
    view.shape = shape_for(info, view.shape);
    views.push_back(view);
    return {};
  }

  static Result<Tensor> as_floats(const std::string& name, Tensor from) {
    if (from.type() == DataType::kFloat32) return from;
    return cast_tensor(concat("the output ", name), from.view(), DataType::kFloat32);
  }

  const std::unique_ptr<Call> call_;
  const std::vector<std::pair<std::string, TensorInfo>> inputs_;
  const std::vector<std::string> outputs_;
  const bool has_weights_;
};

class AdaptedModel final : public Model {
 public:
  AdaptedModel(std::unique_ptr<Model> model, const std::string& signature)
      : model_(std::move(model)), signature_(*model_->signatures().find(signature)), shown_({signature_}) {}

  const std::string& folder() const override { return model_->folder(); }
  const std::map<std::string, Signature, std::less<>>& signatures() const override { return shown_; }
  Status save_state(const std::string& prefix) override { return model_->save_state(prefix); }
  Status restore_state(const std::string& prefix) override { return model_->restore_state(prefix); }

  Result<std::unique_ptr<Call>> prepare(std::string_view signature, std::vector<std::string> inputs,
                                        std::vector<std::string> outputs) override {
    const bool evaluates = signature == kEvaluating;
    const auto& [name_of_own, own] = signature_;
    if (evaluates) {
      inputs.resize(std::min(inputs.size(), own.inputs.size()));
      outputs.erase(outputs.begin(),
                    outputs.begin() + static_cast<std::ptrdiff_t>(std::min(outputs.size(), kSums)));
    }
    HEADRACE_TRY(std::unique_ptr<Call> call, model_->prepare(name_of_own, inputs, outputs));
    std::vector<std::pair<std::string, TensorInfo>> taken;
    for (const std::string& name : inputs) taken.emplace_back(name, own.inputs.find(name)->second);
    return std::unique_ptr<Call>(
        std::make_unique<AdaptedCall>(std::move(call), std::move(taken), std::move(outputs), evaluates));
  }

 private:
  const std::unique_ptr<Model> model_;
  const std::pair<const std::string, Signature> signature_;
  const std::map<std::string, Signature, std::less<>> shown_;  // only `signature_`
};

}  // namespace

Result<std::unique_ptr<Model>> adapt_model(std::unique_ptr<Model> model, const std::string& signature) {
  if (model->signatures().contains(signature))
    return std::unique_ptr<Model>(std::make_unique<AdaptedModel>(std::move(model), signature));
  std::vector<std::string> names;
  for (const auto& [name, each] : model->signatures()) names.push_back(name);
  return Error{Code::kNotFound, concat("the model has no signature ", signature, "; it has ",
                                       names.empty() ? "none" : join(names, ", "))};
}

}  // namespace headrace
