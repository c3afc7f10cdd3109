#include "headrace/serve/signature/served_signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

using ::testing::HasSubstr;

ServedModel a_model() {
  ServedSignature predict{.name = "predict",
                          .inputs = {{"a", DataType::kFloat32, {-1, 3}}, {"b", DataType::kInt64, {-1}}},
                          .outputs = {{"scores", DataType::kFloat32, {-1, -1}}},
                          .is_batched = true};
  ServedSignature raw{.name = "serving_default",
                      .inputs = {{"row", DataType::kBytes, {-1}}},
                      .outputs = {{"label", DataType::kBytes, {-1}}},
                      .is_batched = true,
                      .columns = {{.name = "photo", .is_image = true}, {.name = "text", .is_needed = false}}};
  ServedSignature scalar{.name = "version", .inputs = {{"x", DataType::kBool, Shape()}}};
  return {{predict, raw, scalar}};
}

TEST(ServedSignature, IsTheSameAfterItsJson) {
  const ServedModel model = a_model();
  const auto read = parse_served_model(to_json(model).dump());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->signatures, model.signatures);
  EXPECT_EQ(read->find("serving_default")->columns.size(), 2);
  EXPECT_EQ(read->find("other"), nullptr);
}

void expect_refused(const ServedModel& model, std::string_view detail) {
  const auto read = parse_served_model(to_json(model).dump());
  ASSERT_FALSE(read) << detail;
  EXPECT_EQ(read.error().code, Code::kDataLoss);
  EXPECT_THAT(read.error().message, HasSubstr(detail));
}

TEST(ServedSignature, ADescriptionThatContradictsItselfIsRefused) {
  ServedModel model = a_model();
  std::swap(model.signatures[0], model.signatures[1]);
  expect_refused(model, "signatures are not in ascending order");
  model = a_model();
  std::swap(model.signatures[0].inputs[0], model.signatures[0].inputs[1]);
  expect_refused(model, "tensors are not in ascending order");
  model = a_model();
  model.signatures[0].outputs[0].shape = {4, 3};
  expect_refused(model, "scores has no rows");
  model = a_model();
  model.signatures[0].outputs[0].shape = {-1, -2};
  expect_refused(model, "the shape of scores is not possible");
  model = a_model();
  model.signatures[1].inputs[0].type = DataType::kFloat32;
  expect_refused(model, "raw rows of serving_default are not texts");
  model = a_model();
  model.signatures[2].inputs.clear();
  expect_refused(model, "has no inputs");
  EXPECT_FALSE(parse_served_model("{\"signatures\": 3}"));
  EXPECT_FALSE(parse_served_model("{\"signatures\": []}"));
  EXPECT_FALSE(parse_served_model("[]"));
}

}  // namespace
}  // namespace headrace
