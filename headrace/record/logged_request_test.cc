#include "headrace/record/logged_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/base/text.h"
#include "headrace/base/wire.h"

namespace headrace {
namespace {

using testing::ElementsAre;

constexpr std::uint64_t kMany = 1'000;

// A TensorProto: dtype, sizes, and what `write` adds.
template <typename Write>
Bytes tensor_of(std::uint32_t dtype, const std::vector<std::uint64_t>& sizes, Write&& write) {
  Bytes out;
  WireWriter writer(out);
  writer.varint(1, dtype);
  writer.message(2, [&](WireWriter& shape) {
    for (const std::uint64_t size : sizes)
      shape.message(2, [&](WireWriter& dimension) { dimension.varint(1, size); });
  });
  write(writer);
  return out;
}

TensorValues values_of(const Bytes& message) {
  const auto tensor = parse_tensor(message);
  EXPECT_TRUE(tensor) << tensor.error().message;
  auto values = tensor_values(*tensor, kMany);
  EXPECT_TRUE(values) << values.error().message;
  return *std::move(values);
}

template <typename T>
std::vector<T> numbers_of(const Bytes& message) {
  return std::get<std::vector<T>>(values_of(message));
}

TEST(LoggedRequest, ContentAndValuesGiveTheSameNumbers) {
  const Bytes content = tensor_of(dtype::kFloat, {2}, [](WireWriter& writer) {
    const float values[] = {1.5F, -2};
    writer.bytes(4, std::as_bytes(std::span(values)));
  });
  EXPECT_THAT(numbers_of<float>(content), ElementsAre(1.5F, -2));
  const Bytes values = tensor_of(dtype::kFloat, {3}, [](WireWriter& writer) {
    writer.fixed32(5, 1.5F);
    const float packed = -2;
    writer.bytes(5, std::as_bytes(std::span(&packed, 1)));
  });
  EXPECT_THAT(numbers_of<float>(values), ElementsAre(1.5F, -2, -2)) << "the last one is repeated";
}

TEST(LoggedRequest, EveryTypeIsAnInt64OrAFloat) {
  const auto signed_value = [](WireWriter& writer) { writer.varint(7, static_cast<std::uint64_t>(-3)); };
  EXPECT_THAT(numbers_of<std::int64_t>(tensor_of(dtype::kInt8, {1}, signed_value)), ElementsAre(-3));
  EXPECT_THAT(numbers_of<std::int64_t>(tensor_of(dtype::kInt32, {}, signed_value)), ElementsAre(-3));
  const auto half = [](WireWriter& writer) { writer.varint(13, 0xc500); };
  EXPECT_THAT(numbers_of<float>(tensor_of(dtype::kHalf, {1}, half)), ElementsAre(-5));
  const auto brain = [](WireWriter& writer) { writer.bytes(4, as_bytes(std::string_view("\xa0\x40"))); };
  EXPECT_THAT(numbers_of<float>(tensor_of(dtype::kBfloat16, {1}, brain)), ElementsAre(5));
  const auto yes = [](WireWriter& writer) { writer.varint(11, 1); };
  EXPECT_THAT(numbers_of<std::int64_t>(tensor_of(dtype::kBool, {1}, yes)), ElementsAre(1));
  const auto large = [](WireWriter& writer) { writer.varint(10, (std::uint64_t{1} << 62) + 1); };
  EXPECT_THAT(numbers_of<std::int64_t>(tensor_of(dtype::kInt64, {1}, large)),
              ElementsAre((std::int64_t{1} << 62) + 1));
  const auto nothing = [](WireWriter&) {};
  EXPECT_THAT(numbers_of<float>(tensor_of(dtype::kDouble, {2}, nothing)), ElementsAre(0, 0));
}

TEST(LoggedRequest, ATensorThatDoesNotFitItselfIsRefused) {
  const auto refused = [](const Bytes& message, std::uint64_t most = kMany) {
    const auto tensor = parse_tensor(message);
    return !tensor || !tensor_values(*tensor, most);
  };
  const auto content = [](WireWriter& writer) { writer.bytes(4, as_bytes(std::string_view("12345"))); };
  EXPECT_TRUE(refused(tensor_of(dtype::kFloat, {1}, content)));
  EXPECT_TRUE(refused(tensor_of(dtype::kFloat, {std::uint64_t{1} << 40}, [](WireWriter&) {})));
  EXPECT_TRUE(refused(tensor_of(dtype::kFloat, {3}, [](WireWriter&) {}), 2));
  EXPECT_TRUE(refused(tensor_of(8, {1}, [](WireWriter&) {}))) << "complex";
  const auto two = [](WireWriter& writer) { writer.text(8, "a"), writer.text(8, "b"); };
  EXPECT_TRUE(refused(tensor_of(dtype::kString, {1}, two)));
  EXPECT_FALSE(refused(tensor_of(dtype::kString, {2}, two)));
}

TEST(LoggedRequest, InputsAscendAndTheLastOfEqualNamesCounts) {
  Bytes request;
  WireWriter writer(request);
  for (const auto& [name, value] : {std::pair("b", 1), {"a", 2}, {"b", 3}}) {
    const Bytes tensor = tensor_of(dtype::kInt64, {}, [value = value](WireWriter& out) {
      out.varint(10, static_cast<std::uint64_t>(value));
    });
    writer.message(2, [&, name = name](WireWriter& entry) {
      entry.text(1, name);
      entry.bytes(2, tensor);
    });
  }
  Bytes log;
  WireWriter(log).message(6, [&](WireWriter& predict) { predict.bytes(1, request); });
  const auto found = logged_predict_request(log);
  ASSERT_TRUE(found && *found);
  const auto inputs = inputs_of_request(**found);
  ASSERT_TRUE(inputs);
  ASSERT_EQ(inputs->size(), 2U);
  EXPECT_EQ((*inputs)[0].name, "a");
  EXPECT_EQ(*(*inputs)[0].tensor.scalar(), 2);
  EXPECT_EQ(*(*inputs)[1].tensor.scalar(), 3);

  Bytes other;
  WireWriter(other).message(5, [](WireWriter&) {});
  EXPECT_FALSE(*logged_predict_request(other)) << "a SessionRunLog";
  EXPECT_FALSE(logged_predict_request(as_bytes(std::string_view("\x32\xff"))));
}

}  // namespace
}  // namespace headrace
