#include "headrace/serve/protocol/json_writer.h"

#include <gmock/gmock.h>

#include <limits>

#include "headrace/base/text.h"

namespace headrace {
namespace {

template <typename T>
std::string number_text(T value) {
  std::string out;
  append_json_number(out, value);
  return out;
}

std::string tensor_text(const TensorView& tensor, std::uint64_t first, const Shape& shape,
                        JsonBytesForm form = JsonBytesForm::kText) {
  std::string out;
  const Status written = append_json_tensor(out, tensor, first, shape, form);
  return written ? out : concat('<', written.error().message, '>');
}

TEST(JsonWriter, WritesFloatsShortestAndNeverAsIntegers) {
  EXPECT_EQ(number_text(0.2F), "0.2");
  EXPECT_EQ(number_text(0.2), "0.2");
  EXPECT_EQ(number_text(static_cast<double>(0.2F)), "0.20000000298023224");
  EXPECT_EQ(number_text(0.0F), "0.0");
  EXPECT_EQ(number_text(-0.0F), "-0.0");
  EXPECT_EQ(number_text(3.0F), "3.0");
  EXPECT_EQ(number_text(1e6F), "1e+06");
  EXPECT_EQ(number_text(123456.0F), "123456.0");
  EXPECT_EQ(number_text(3e-5F), "3e-05");
  EXPECT_EQ(number_text(std::numeric_limits<float>::max()), "3.4028235e+38");
  EXPECT_EQ(number_text(std::numeric_limits<float>::denorm_min()), "1e-45");
  EXPECT_EQ(number_text(std::numeric_limits<float>::quiet_NaN()), "NaN");
  EXPECT_EQ(number_text(-std::numeric_limits<double>::infinity()), "-Infinity");
  EXPECT_EQ(number_text(std::numeric_limits<double>::infinity()), "Infinity");
}

TEST(JsonWriter, EscapesStringsAndRepairsThem) {
  std::string out;
  append_json_text(out, std::string_view("a\"\\/\b\f\n\r\t\x1f\0\x7f\u00e4", 14));
  EXPECT_EQ(out, "\"a\\\"\\\\/\\u0008\\u000c\\n\\r\\t\\u001f\\u0000\x7f\u00e4\"");
  out.clear();
  append_json_text(out, "a\xff");
  EXPECT_EQ(out, "\"a\ufffd\"");
}

TEST(JsonWriter, WritesPartsOfTensorsAsNestedLists) {
  const std::int64_t integers[] = {1, -2, 3, 4, 5, std::numeric_limits<std::int64_t>::min()};
  const TensorView tensor = TensorView::of(integers, {3, 2});
  EXPECT_EQ(tensor_text(tensor, 0, {3, 2}), "[[1,-2],[3,4],[5,-9223372036854775808]]");
  EXPECT_EQ(tensor_text(tensor, 2, {2}), "[3,4]");
  EXPECT_EQ(tensor_text(tensor, 3, {}), "4");
  EXPECT_EQ(tensor_text(tensor, 0, {2, 0}), "[[],[]]");
  const std::uint8_t booleans[] = {0, 1, 7};
  EXPECT_EQ(tensor_text({DataType::kBool, {3}, booleans}, 0, {3}), "[false,true,true]");
  EXPECT_EQ(tensor_text({DataType::kUint8, {3}, booleans}, 0, {3}), "[0,1,7]");
  EXPECT_EQ(tensor_text({DataType::kFloat16, {1}, booleans}, 0, {1}),
            "<JSON has no form for values of the type float16>");
}

TEST(JsonWriter, WritesByteStringsAsTextOrBase64) {
  const std::string_view texts[] = {"a\n", "", "\xff\x00"};
  const TensorView tensor = TensorView::of(std::span<const std::string_view>(texts), {3});
  EXPECT_EQ(tensor_text(tensor, 0, {3}), R"(["a\n","",{"b64":"/w=="}])");
  EXPECT_EQ(tensor_text(tensor, 1, {1}, JsonBytesForm::kBase64), R"([{"b64":""}])");
  EXPECT_EQ(tensor_text(tensor, 0, {}, JsonBytesForm::kBase64), R"({"b64":"YQo="})");
}

}  // namespace
}  // namespace headrace
