#include "headrace/serve/protocol/answers.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <random>

#include "headrace/base/text.h"
#include "headrace/serve/protocol/kserve_v2_request.h"
#include "headrace/serve/protocol/rest_v1_request.h"
#include "headrace/serve/protocol/tensorflow_predict.h"

namespace headrace {
namespace {

// One request's rows of two outputs: numbers of this shape, and texts.
struct OutputsOfRows {
  std::vector<double> numbers;
  std::vector<std::string> texts;
  std::vector<std::string_view> views;
  BatchAnswers answers;
  ServedSignature signature;
};

void answer_with(std::int64_t rows, const Shape& row, double value, const std::string& text,
                 OutputsOfRows& out) {
  std::vector<std::int64_t> sizes = {rows};
  sizes.insert(sizes.end(), row.sizes().begin(), row.sizes().end());
  const Shape shape(sizes);
  out.numbers.assign(shape.elements(), value);
  out.texts.assign(static_cast<std::size_t>(rows), text);
  out.views.assign(out.texts.begin(), out.texts.end());
  auto outputs = std::make_shared<BatchOutputs>();
  outputs->tensors = {TensorView{DataType::kFloat64, shape, out.numbers.data(), {}},
                      TensorView::of(out.views, {rows})};
  out.answers = {{outputs, 0, static_cast<std::uint64_t>(rows)}};
  out.signature = {.name = "s",
                   .inputs = {{"x", DataType::kFloat64, {-1}}},
                   .outputs = {{"n", DataType::kFloat64, shape}, {"t", DataType::kBytes, {-1}}},
                   .is_batched = true};
}

constexpr std::uint64_t kNames = 400;  // of outputs and model, and the words around them

TEST(MostEncodedBytes, NoAnswerIsLarger) {
  std::mt19937_64 random(7);
  const Shape rows[] = {{}, {3}, {0}, {1, 1, 1, 1}, {2, 5}};
  for (int i = 0; i < 200; ++i) {
    const double values[] = {0, -2.2250738585072014e-308, std::numeric_limits<double>::quiet_NaN(),
                             -std::numeric_limits<double>::infinity(), std::bit_cast<double>(random())};
    const std::string texts[] = {"", std::string(40, '\x01'), "plain", "\"\\\n", "ä"};
    OutputsOfRows answered;
    answer_with(static_cast<std::int64_t>(1 + random() % 9), rows[random() % 5], values[random() % 5],
                texts[random() % 5], answered);
    const std::uint64_t json = most_encoded_bytes(answered.answers, AnswerEncoding::kJson);
    for (const RestForm form : {RestForm::kRow, RestForm::kColumn}) {
      const auto body = rest_answer(answered.answers, answered.signature, form);
      ASSERT_TRUE(body) << body.error().message;
      // A row names the outputs again.
      EXPECT_LE(body->size(), json + kNames + answered.texts.size() * 20) << *body;
    }
    const auto infer = infer_answer(answered.answers, answered.signature, {}, "m", 3);
    ASSERT_TRUE(infer) << infer.error().message;
    EXPECT_LE(infer->body.size(), json + kNames);
    const std::uint64_t binary = most_encoded_bytes(answered.answers, AnswerEncoding::kBinary);
    const auto bytes =
        infer_answer(answered.answers, answered.signature, {.is_binary_by_default = true}, "m", 3);
    ASSERT_TRUE(bytes);
    EXPECT_LE(bytes->body.size(), binary + kNames);
    EXPECT_LT(binary, json + 1);
  }
}

TEST(MostEncodedBytes, CountsOnlyTheRowsOfTheRequest) {
  OutputsOfRows answered;
  answer_with(8, {100}, 1.5, "text", answered);
  const std::uint64_t all = most_encoded_bytes(answered.answers, AnswerEncoding::kJson);
  answered.answers[0].first_row = 3;
  answered.answers[0].rows = 2;
  EXPECT_EQ(most_encoded_bytes(answered.answers, AnswerEncoding::kJson), all / 4);
}

}  // namespace
}  // namespace headrace
