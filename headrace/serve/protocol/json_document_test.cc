#include "headrace/serve/protocol/json_document.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "headrace/base/bytes.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/serve/protocol/json_writer.h"

namespace headrace {
namespace {

using testing::HasSubstr;

// The text of what was parsed; or the error, in brackets.
std::string parsed(std::string_view text) {
  const auto document = JsonDocument::parse(text);
  if (!document) return concat('<', code_name(document.error().code), ": ", document.error().message, '>');
  std::string out;
  append_json_node(out, document->root());
  return out;
}

TEST(JsonDocument, IsReadAsItIsWritten) {
  const std::string_view texts[] = {"null",
                                    "true",
                                    "false",
                                    "0",
                                    "-9223372036854775808",
                                    "18446744073709551615",
                                    "0.5",
                                    "1e+300",
                                    R"("")",
                                    R"("a\"b\\c\n\r\t\u0001d")",
                                    "\"\u00e4\u20ac\"",
                                    "[]",
                                    "{}",
                                    R"([1,[2,[]],{"a":{}}])",
                                    R"({"b":1,"a":[true,null],"b":2})"};
  for (const std::string_view text : texts) EXPECT_EQ(parsed(text), text);
  EXPECT_EQ(parsed(" [ 1 , 2.50 ] "), "[1,2.5]") << "white space goes, numbers are shortest";
}

TEST(JsonDocument, TakesWhatTensorFlowServingTakesBeyondJson) {
  const auto document = JsonDocument::parse(R"([NaN, -Infinity,Inf, -NaN ,"NaN",{"a":Infinity}] ], "rest)");
  ASSERT_TRUE(document) << document.error().message;
  const auto values = document->root().elements();
  ASSERT_EQ(values.size(), 6U);
  EXPECT_TRUE(std::isnan(values[0].number()));
  EXPECT_EQ(values[1].number(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(values[2].number(), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(values[3].number()));
  EXPECT_EQ(values[4].kind(), JsonKind::kString);
  EXPECT_EQ(values[4].text(), "NaN");
  EXPECT_EQ(values[5].find("a")->number(), std::numeric_limits<double>::infinity());

  const std::pair<std::string_view, std::string_view> cases[] = {
      {"{\"a\":1}{\"b\":2}", R"({"a":1})"},
      {"[1] \xff\xff", "[1]"},
      {"\xef\xbb\xbf[1]", "[1]"},
      {"7 8", "7"},
      {std::string_view("2\0\0s\"", 5), "2"},
      {R"("a\"]" x)", R"("a\"]")"},
      {"[18446744073709551616, -9223372036854775809]", "[18446744073709551616.0,-9223372036854775808.0]"},
      {R"(["NaN, [", 1] trailing)", R"(["NaN, [",1])"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(parsed(text), expected) << text;
}

TEST(JsonDocument, RefusesWhatIsNoJsonAndSaysWhere) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "empty"},
      {" ", "not JSON"},
      {"[1,", "not JSON: line 1, column 4"},
      {"[1 2]", "not JSON: line 1, column 4"},
      {"{\"a\" 1}", "not JSON"},
      {"[nan]", "not JSON"},
      {"[NaN", "not JSON"},
      {"[+Infinity]", "not JSON"},
      {"[01]", "not JSON"},
      {"[1e999]", "not JSON"},
      {"\"\xff\"", "not JSON"},
      {"\"a\nb\"", "not JSON"},
      {"[\"\\u0000n\",NaN]", "begins with \\u0000"},
      {"]", "not JSON"},
      {"\"", "not JSON"},
      {"\"\\", "not JSON"},
  };
  for (const auto& [text, expected] : cases) {
    const auto document = JsonDocument::parse(text);
    ASSERT_FALSE(document) << text;
    EXPECT_EQ(document.error().code, Code::kInvalidArgument) << text;
    EXPECT_THAT(document.error().message, HasSubstr(expected)) << text;
  }
}

TEST(JsonDocument, BoundsTheDepth) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(parsed(nested(kJsonDepthLimit)), nested(kJsonDepthLimit));
  for (const std::string& text :
       {nested(kJsonDepthLimit + 1), nested(1'000'000), std::string(1'000'000, '[')})
    EXPECT_THAT(parsed(text), HasSubstr("INVALID_ARGUMENT: the JSON text nests deeper than 64 levels"));
}

TEST(JsonDocument, IsParsedInPlaceIfBytesAreReadableBehindIt) {
  std::string text = R"({"a":[1,2]})";
  const std::size_t size = text.size();
  text.append(kJsonPaddingBytes, ']');
  const auto document = JsonDocument::parse(std::string_view(text).substr(0, size), true);
  ASSERT_TRUE(document) << document.error().message;
  text.assign(text.size(), 'x');
  EXPECT_EQ(document->root().find("a")->elements()[1].int64(), 2) << "the text is not needed any more";
  EXPECT_EQ(document->text_bytes(), size);
}

template <typename T>
std::optional<std::vector<T>> numbers(std::string_view text, std::vector<std::int64_t> sizes) {
  const auto document = JsonDocument::parse(text);
  if (!document) return std::nullopt;
  std::size_t count = 1;
  for (const std::int64_t size : sizes) count *= static_cast<std::size_t>(size);
  Bytes bytes(count * sizeof(T));
  if (!read_json_numbers(document->root(), sizes, DataTypeOf<T>::value, bytes.data())) return std::nullopt;
  std::vector<T> out;
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    out.push_back(value);
  }
  return out;
}

TEST(ReadJsonNumbers, TakesListsOfExactlyTheShape) {
  EXPECT_EQ(numbers<float>("[[1,2.5],[-3,4e2],[0,-0.0]]", {3, 2}),
            (std::vector<float>{1, 2.5F, -3, 400, 0, -0.0F}));
  EXPECT_EQ(numbers<std::int32_t>("7", {}), std::vector<std::int32_t>{7});
  EXPECT_EQ(numbers<std::int32_t>("[]", {0, 3}), std::vector<std::int32_t>{});
  EXPECT_EQ(numbers<bool>("[true,false]", {2}), (std::vector<bool>{true, false}));
  for (const std::string_view wrong : {"[[1,2],[3]]", "[[1,2],[3,4],[5,6]]", "[[1,2]]", "[1,2]", "[[1,2],3]",
                                       "[[1,2],[3,[4]]]", "[[1,2],[3,null]]", "[[1,2],[3,\"4\"]]", "{}", "1"})
    EXPECT_FALSE(numbers<float>(wrong, {2, 2})) << wrong;
}

TEST(ReadJsonNumbers, ConvertsOnlyWhereNothingIsLost) {
  EXPECT_TRUE(numbers<float>("16777215", {}));
  EXPECT_FALSE(numbers<float>("16777216", {})) << "as TensorFlow Serving: 2^24 may have been 2^24 + 1";
  EXPECT_FALSE(numbers<float>("-16777216", {}));
  EXPECT_TRUE(numbers<float>("16777217.0", {})) << "floating point is rounded";
  EXPECT_TRUE(numbers<double>("9007199254740991", {}));
  EXPECT_FALSE(numbers<double>("9007199254740992", {}));
  EXPECT_FALSE(numbers<double>("18446744073709551615", {}));
  EXPECT_FALSE(numbers<float>("3.5e38", {}));
  EXPECT_FALSE(numbers<float>("true", {}));
  EXPECT_TRUE(std::isnan(numbers<float>("[NaN]", {1})->front()));
  EXPECT_EQ(numbers<float>("[-Infinity]", {1})->front(), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isinf(numbers<double>("[Infinity]", {1})->front()));

  EXPECT_FALSE(numbers<std::int32_t>("1.0", {}));
  EXPECT_FALSE(numbers<std::int32_t>("[NaN]", {1}));
  EXPECT_FALSE(numbers<std::int32_t>("true", {}));
  EXPECT_FALSE(numbers<bool>("1", {}));
  EXPECT_EQ(numbers<std::int8_t>("[-128,127]", {2}), (std::vector<std::int8_t>{-128, 127}));
  EXPECT_FALSE(numbers<std::int8_t>("128", {}));
  EXPECT_FALSE(numbers<std::uint8_t>("-1", {}));
  EXPECT_FALSE(numbers<std::int16_t>("32768", {}));
  EXPECT_FALSE(numbers<std::uint16_t>("65536", {}));
  EXPECT_FALSE(numbers<std::int32_t>("2147483648", {}));
  EXPECT_FALSE(numbers<std::uint32_t>("4294967296", {}));
  EXPECT_FALSE(numbers<std::int64_t>("9223372036854775808", {}));
  EXPECT_EQ(numbers<std::uint64_t>("18446744073709551615", {})->front(), ~std::uint64_t{0});
  EXPECT_FALSE(has_json_numbers(DataType::kFloat16));
  EXPECT_FALSE(has_json_numbers(DataType::kBytes));
}

}  // namespace
}  // namespace headrace
