#include "headrace/engine/adapted_model.h"

#include <gmock/gmock.h>

#include <array>

#include "headrace/engine/metric_states.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Its signature "serve" takes `count` int32[?, 1] and `text`, and returns `double` float64[?, 2]: the count
/// and the number of bytes of the text.
class ForeignModel final : public Model {
 public:
  const std::string& folder() const override { return folder_; }
  const std::map<std::string, Signature, std::less<>>& signatures() const override { return signatures_; }
  Status save_state(const std::string&) override { return {}; }
  Status restore_state(const std::string&) override { return {}; }
  Result<std::unique_ptr<Call>> prepare(std::string_view signature, std::vector<std::string> inputs,
                                        std::vector<std::string> outputs) override {
    EXPECT_EQ(signature, "serve");
    EXPECT_THAT(inputs, ElementsAre("count", "text"));
    EXPECT_THAT(outputs, ElementsAre("double"));
    return std::unique_ptr<Call>(std::make_unique<ForeignCall>());
  }

 private:
  class ForeignCall final : public Call {
   public:
    Status run(std::span<const TensorView> inputs, std::span<Tensor> outputs) override {
      EXPECT_EQ(inputs.size(), 2U);
      EXPECT_EQ(inputs[0].type, DataType::kInt32);
      const std::int64_t rows = inputs[0].shape[0];
      EXPECT_EQ(inputs[0].shape, (Shape{rows, 1}));
      auto values = std::make_shared<std::vector<double>>();
      for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
        values->push_back(static_cast<const std::int32_t*>(inputs[0].data)[i]);
        values->push_back(static_cast<double>(inputs[1].strings[i].size()));
      }
      outputs[0] = Tensor(DataType::kFloat64, {rows, 2}, values->data(), values);
      return {};
    }
  };

  const std::string folder_;
  const std::map<std::string, Signature, std::less<>> signatures_ = {
      {"serve",
       {.inputs = {{"count", {DataType::kInt32, Shape{-1, 1}}}, {"text", {DataType::kBytes, Shape{-1}}}},
        .outputs = {{"double", {DataType::kFloat64, Shape{-1, 2}}}}}},
      {"reset_metrics", {.inputs = {}, .outputs = {{"total", {DataType::kFloat32, Shape{}}}}}}};
};

class AdaptModel : public testing::Test {
 protected:
  std::unique_ptr<Model> model = *adapt_model(std::make_unique<ForeignModel>(), "serve");
  const std::array<std::int64_t, 3> counts = {7, 8, 9};
  const std::array<std::string_view, 3> texts = {"a", "", "abc"};
  const std::array<float, 3> weights = {1, 0, 1};
  const std::array<std::int64_t, 3> labels = {0, 1, 0};
};

TEST_F(AdaptModel, CastsAndReshapesBothWays) {
  auto call = *model->prepare("predict", {"count", "text"}, {"double"});
  const std::array inputs = {TensorView::of(counts.data(), {3}), TensorView::of(texts, {3})};
  Tensor out;
  ASSERT_TRUE(call->run(inputs, {&out, 1}));
  EXPECT_EQ(out.shape(), (Shape{3, 2}));
  EXPECT_THAT(out.values<float>(), ElementsAre(7, 1, 8, 0, 9, 3));
}

TEST_F(AdaptModel, EvaluatesTheRowsThatHaveAWeightAndHasNoLoss) {
  auto call =
      *model->prepare("eval_step", {"count", "text", "labels", "weights"}, {"loss", "metrics", "double"});
  const std::array inputs = {TensorView::of(counts.data(), {3}), TensorView::of(texts, {3}),
                             TensorView::of(labels.data(), {3}), TensorView::of(weights.data(), {3})};
  std::array<Tensor, 3> outputs;
  ASSERT_TRUE(call->run(inputs, outputs));
  EXPECT_TRUE(outputs[0].values<float>().empty());
  EXPECT_TRUE(outputs[1].values<float>().empty());
  EXPECT_EQ(outputs[2].shape(), (Shape{2, 2}));
  EXPECT_THAT(outputs[2].values<float>(), ElementsAre(7, 1, 9, 3));
}

TEST_F(AdaptModel, NamesTheInputWhoseValueDoesNotFit) {
  auto call = *model->prepare("predict", {"count", "text"}, {"double"});
  const std::array<std::int64_t, 1> large = {1LL << 40};
  const std::array inputs = {TensorView::of(large.data(), {1}),
                             TensorView::of(std::span(texts).first(1), {1})};
  Tensor out;
  const Status status = call->run(inputs, {&out, 1});
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("of the input count does not fit int32"));
}

TEST_F(AdaptModel, ShowsOnlyTheSignatureThatItAdapts) {
  EXPECT_TRUE(model->signatures().contains("serve"));
  EXPECT_EQ(model->signatures().size(), 1U);
  EXPECT_TRUE(MetricStates::tensors(*model).empty()) << "its steps take no states";
}

TEST(AdaptModelOfNone, ListsTheSignatures) {
  const auto model = adapt_model(std::make_unique<ForeignModel>(), "serving_default");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, Code::kNotFound);
  EXPECT_THAT(model.error().message, HasSubstr("no signature serving_default; it has reset_metrics, serve"));
}

}  // namespace
}  // namespace headrace
