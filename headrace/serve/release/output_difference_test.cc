#include "headrace/serve/release/output_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace headrace {
namespace {

using testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

ServedSignature signature_of(std::vector<ServedTensor> outputs) {
  return {.name = "s", .outputs = std::move(outputs), .is_batched = true};
}

// Rows of one output, in pieces.
template <typename T>
BatchAnswers answers_of(const std::vector<std::vector<T>>& pieces) {
  BatchAnswers out;
  for (const std::vector<T>& values : pieces) {
    auto owner = std::make_shared<std::vector<T>>(values);
    auto outputs = std::make_shared<BatchOutputs>();
    outputs->tensors = {TensorView::of(owner->data(), {static_cast<std::int64_t>(values.size())})};
    outputs->owner = owner;
    out.push_back({std::move(outputs), 0, values.size()});
  }
  return out;
}

template <typename T>
OutputDifference compare(const std::vector<T>& a, const std::vector<T>& b, double tolerance = 0) {
  const ServedSignature signature = signature_of({{"y", DataTypeOf<T>::value, {-1}}});
  const auto out = compare_outputs(answers_of<T>({a}), signature, answers_of<T>({b}), signature, tolerance);
  EXPECT_TRUE(out) << out.error().message;
  return out ? *out : OutputDifference{};
}

TEST(OutputDifference, RowsDifferByMoreThanTheTolerance) {
  const auto exact = compare<float>({1, 2, 3}, {1, 2.5, 2});
  EXPECT_EQ(exact.rows, 3U);
  EXPECT_EQ(exact.rows_that_differ, 2U);
  EXPECT_EQ(exact.largest, 1.0);
  EXPECT_EQ(compare<float>({1, 2, 3}, {1, 2.5, 2}, 0.5).rows_that_differ, 1U);
}

TEST(OutputDifference, NumbersThatAreNotFiniteAreCompared) {
  EXPECT_EQ(compare<float>({kNan, INFINITY}, {kNan, INFINITY}).rows_that_differ, 0U);
  for (const float other : {1.0F, INFINITY, -INFINITY}) {
    EXPECT_EQ(compare<float>({kNan}, {other}, 1e9).rows_that_differ, 1U);
    EXPECT_EQ(compare<float>({other}, {kNan}).largest, kInfinity);
  }
  EXPECT_EQ(compare<float>({INFINITY}, {-INFINITY}).largest, kInfinity);
}

TEST(OutputDifference, WholeNumbersDoNotWrap) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(compare<std::int64_t>({kMost}, {kMost - 1}).largest, 1.0);
  EXPECT_EQ(compare<std::int64_t>({kMost}, {-kMost - 1}).largest, std::pow(2.0, 64));
  EXPECT_EQ(compare<std::uint8_t>({0}, {255}).largest, 255.0);
}

TEST(OutputDifference, HalvesAreNumbers) {
  // Rows of one half: 1 and infinity, and the number after 1.
  const auto compare_halves = [](DataType type, std::vector<std::uint16_t> a, std::vector<std::uint16_t> b,
                                 double tolerance) {
    const ServedSignature signature = signature_of({{"y", type, {-1}}});
    const auto answers = [type](const std::vector<std::uint16_t>& bits) {
      auto outputs = std::make_shared<BatchOutputs>();
      outputs->tensors = {{type, {3}, bits.data(), {}}};
      return BatchAnswers{{std::move(outputs), 1, 2}};  // the first row is of another request
    };
    const auto out = compare_outputs(answers(a), signature, answers(b), signature, tolerance);
    EXPECT_TRUE(out) << out.error().message;
    return out ? *out : OutputDifference{};
  };
  for (const double tolerance : {0.0, 0.01}) {
    const auto half = compare_halves(DataType::kFloat16, {0, 0x3c00, 0x7c00}, {9, 0x3c01, 0x7c00}, tolerance);
    EXPECT_EQ(half.rows, 2U);
    EXPECT_EQ(half.rows_that_differ, tolerance == 0 ? 1U : 0U);
    EXPECT_EQ(half.largest, 0x1p-10);
    const auto brain =
        compare_halves(DataType::kBfloat16, {0, 0x3f80, 0x7f80}, {9, 0x3f81, 0x7f80}, tolerance);
    EXPECT_EQ(brain.rows_that_differ, tolerance == 0 ? 1U : 0U);
    EXPECT_EQ(brain.largest, 0x1p-7);
  }
}

TEST(OutputDifference, RowsInOtherBatchesAreTheSameRows) {
  const ServedSignature signature = signature_of({{"y", DataType::kFloat32, {-1}}});
  const auto out = compare_outputs(answers_of<float>({{1, 2}, {3}}), signature,
                                   answers_of<float>({{1}, {2, 4}}), signature, 0);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->rows, 3U);
  EXPECT_EQ(out->rows_that_differ, 1U);
}

TEST(OutputDifference, TextsAreTheSameOrNot) {
  const ServedSignature signature = signature_of({{"label", DataType::kBytes, {-1}}});
  const std::vector<std::string_view> first = {"spam", "ham"}, second = {"spam", "jam"};
  const auto answers = [](const std::vector<std::string_view>& texts) {
    auto outputs = std::make_shared<BatchOutputs>();
    outputs->tensors = {TensorView::of(std::span(texts), {2})};
    return BatchAnswers{{std::move(outputs), 0, 2}};
  };
  const auto out = compare_outputs(answers(first), signature, answers(second), signature, 0);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->rows_that_differ, 1U);
}

TEST(OutputDifference, OtherOutputsAreAnError) {
  const ServedSignature y = signature_of({{"y", DataType::kFloat32, {-1}}});
  const ServedSignature z = signature_of({{"z", DataType::kFloat32, {-1}}});
  const auto answers = answers_of<float>({{1}});
  EXPECT_THAT(compare_outputs(answers, y, answers, z, 0).error().message, HasSubstr("no output y"));
  BatchAnswers with_more = answers_of<float>({{1}});
  auto outputs = std::make_shared<BatchOutputs>(*with_more[0].outputs);
  outputs->tensors.push_back(outputs->tensors[0]);
  with_more[0].outputs = outputs;
  const ServedSignature both =
      signature_of({{"y", DataType::kFloat32, {-1}}, {"z", DataType::kFloat32, {-1}}});
  EXPECT_THAT(compare_outputs(answers, y, with_more, both, 0).error().message,
              HasSubstr("only the other version has an output z"));
  EXPECT_THAT(compare_outputs(answers, y, answers_of<float>({{1, 2}}), y, 0).error().message,
              HasSubstr("has a different number of rows"));
}

}  // namespace
}  // namespace headrace
