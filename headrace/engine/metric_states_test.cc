#include "headrace/engine/metric_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

Tensor floats(std::vector<float> values) {
  const Shape shape{static_cast<std::int64_t>(values.size())};
  auto owner = std::make_shared<const std::vector<float>>(std::move(values));
  return {DataType::kFloat32, shape, owner->data(), owner};
}

// Metrics "sum" and "pair", of two states: reset to {1} and {2}.
class SummingModel final : public Model {
 public:
  explicit SummingModel(bool has_metrics) {
    if (!has_metrics) return;
    signatures_["reset_metrics"].outputs = {{"metric_state_0", {}}, {"metric_state_1", {}}};
    signatures_["metric_results"] = {.inputs = signatures_["reset_metrics"].outputs,
                                     .outputs = {{"pair", {}}, {"sum", {}}}};
  }
  const std::string& folder() const override { return folder_; }
  const std::map<std::string, Signature, std::less<>>& signatures() const override { return signatures_; }
  Result<std::unique_ptr<Call>> prepare(std::string_view signature, std::vector<std::string> inputs,
                                        std::vector<std::string> outputs) override {
    const Signature& known = signatures_.at(std::string(signature));
    EXPECT_EQ(inputs.size(), known.inputs.size());
    EXPECT_EQ(outputs.size(), known.outputs.size());
    return std::unique_ptr<Call>(std::make_unique<SummingCall>());
  }
  Status save_state(const std::string&) override { return {}; }
  Status restore_state(const std::string&) override { return {}; }

 private:
  class SummingCall final : public Call {
   public:
    Status run(std::span<const TensorView> inputs, std::span<Tensor> outputs) override {
      if (inputs.empty()) {
        outputs[0] = floats({1});
        outputs[1] = floats({2});
        return {};
      }
      const float first = *static_cast<const float*>(inputs[0].data);
      const float second = *static_cast<const float*>(inputs[1].data);
      outputs[0] = floats({first, second});
      outputs[1] = floats({first + second});
      return {};
    }
  };

  const std::string folder_;
  std::map<std::string, Signature, std::less<>> signatures_;
};

TEST(MetricStates, PassOverDataAloneAndDoNotDisturbEachOther) {
  SummingModel model(true);
  EXPECT_THAT(MetricStates::tensors(model), ElementsAre("metric_state_0", "metric_state_1"));
  MetricStates training = *MetricStates::start(model);
  std::array<Tensor, 2> after = {floats({10}), floats({20})};
  training.take(after);
  const MetricStates validation = *MetricStates::start(model);
  EXPECT_THAT(*validation.results(), ElementsAre(Pair("pair_0", 1), Pair("pair_1", 2), Pair("sum", 3)));
  EXPECT_THAT(*training.results(), ElementsAre(Pair("pair_0", 10), Pair("pair_1", 20), Pair("sum", 30)));
  ASSERT_EQ(training.views().size(), training.count());
  EXPECT_EQ(*static_cast<const float*>(training.views()[1].data), 20);
}

TEST(MetricStates, AModelWithoutSuchMetricsHasNone) {
  SummingModel model(false);
  EXPECT_THAT(MetricStates::tensors(model), IsEmpty());
  MetricStates states = *MetricStates::start(model);
  EXPECT_EQ(states.count(), 0U);
  states.take({});
  EXPECT_THAT(*states.results(), IsEmpty());
}

}  // namespace
}  // namespace headrace
