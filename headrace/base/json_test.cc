#include "headrace/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace headrace {
namespace {

using testing::HasSubstr;

Json parsed(std::string_view text) {
  Result<Json> value = parse_json(text);
  EXPECT_TRUE(value) << text << ": " << value.error().message;
  return *std::move(value);
}

std::string again(std::string_view text) { return parsed(text).dump(); }

TEST(Json, IsWrittenWithItsNamesSortedAndWithoutWhiteSpace) {
  const std::vector<std::uint64_t> counts = {3, 4};
  const std::map<std::string, std::vector<std::uint64_t>> lists = {{"x", counts}, {"a", {}}};
  Json out = {{"url", "s3://b/k"}, {"counts", counts}, {"lists", lists}, {"none", nullptr}, {"is", true}};
  out["inner"]["deeper"].push_back(-1);
  out["inner"]["deeper"].push_back({{"b", 1}, {"a", 2.5}});
  EXPECT_EQ(out.dump(),
            "{\"counts\":[3,4],\"inner\":{\"deeper\":[-1,{\"a\":2.5,\"b\":1}]},\"is\":true,"
            "\"lists\":{\"a\":[],\"x\":[3,4]},\"none\":null,\"url\":\"s3://b/k\"}");
  EXPECT_EQ(Json::object().dump(), "{}");
  EXPECT_EQ(Json::array({"a", 1, Json::array()}).dump(), "[\"a\",1,[]]");
}

TEST(Json, NumbersKeepEveryBit) {
  EXPECT_EQ(again("[0,-0,18446744073709551615,-9223372036854775808]"),
            "[0,0,18446744073709551615,-9223372036854775808]");
  EXPECT_EQ(again("[1.0,-0.0,0.1,1e300,1e-7,100000000000000000000]"), "[1.0,-0.0,0.1,1e+300,1e-07,1e+20]");
  EXPECT_EQ(Json(0.1F).dump(), "0.10000000149011612");
  EXPECT_EQ(Json(std::nan("")).dump(), "null");
  EXPECT_EQ(Json(HUGE_VAL).dump(), "null");
}

TEST(Json, TextsAreEscapedAndIllFormedBytesReplaced) {
  EXPECT_EQ(Json("é \"\\/\b\f\n\r\t\x01\x7f").dump(), "\"é \\\"\\\\/\\b\\f\\n\\r\\t\\u0001\x7f\"");
  EXPECT_EQ(Json("a\xff\xe2\x82z").dump(), "\"a\uFFFD\uFFFDz\"");
  EXPECT_EQ(Json(std::string("\0", 1)).dump(), "\"\\u0000\"");
  EXPECT_EQ(parsed(R"("\u00e9\ud83d\ude00\n")").text(), "é😀\n");
  EXPECT_FALSE(parse_json("\"\xff\""));
}

TEST(Json, OfMembersOfOneNameTheLastCounts) {
  EXPECT_EQ(again(R"({"a":1,"b":2,"a":3})"), R"({"a":3,"b":2})");
}

TEST(Json, ValuesAreReadAsTheirTypeAndNeverRoundedOrWrapped) {
  const Json document = parsed(R"({"n":300,"less":-1,"half":1.5,"t":"x","l":[1,2],"m":{"a":1},"is":false})");
  EXPECT_EQ(document.get<int>("n"), 300);
  EXPECT_EQ(document.get<double>("n"), 300);
  EXPECT_EQ(document.get<std::int64_t>("less"), -1);
  EXPECT_EQ(document.get<std::string>("t"), "x");
  EXPECT_EQ(document.get<std::vector<int>>("l"), (std::vector<int>{1, 2}));
  EXPECT_EQ((document.get<std::map<std::string, int>>("m")), (std::map<std::string, int>{{"a", 1}}));
  EXPECT_FALSE(document.get<bool>("is"));
  EXPECT_EQ(document.get_or("t", "otherwise"), "x");
  EXPECT_EQ(document.get_or("absent", "otherwise"), "otherwise");
  EXPECT_EQ(document.get_or("absent", 7), 7);
  EXPECT_THROW(document.get<std::uint8_t>("n"), JsonError);
  EXPECT_THROW(document.get<std::uint64_t>("less"), JsonError);
  EXPECT_THROW(document.get<int>("half"), JsonError);
  EXPECT_THROW(document.get<std::string>("n"), JsonError);
  EXPECT_THROW(document.get<std::vector<std::string>>("l"), JsonError);
  EXPECT_THROW(document.get_or("n", "otherwise"), JsonError);
  EXPECT_THROW(document.at("absent"), JsonError);
  EXPECT_THROW(document.at("l").at(2), JsonError);
  EXPECT_THROW(document.at("l").at("a"), JsonError);
  EXPECT_THROW(document.at("t").values(), JsonError);
}

TEST(Json, WhatATemporaryHoldsOutlivesIt) {
  std::string seen;
  for (const Json& value : parsed(R"(["a long text that is not kept inside of its string","b"])").values())
    seen += value.text();
  EXPECT_EQ(seen, "a long text that is not kept inside of its stringb");
}

TEST(Json, WhatIsAbsentIsNullToWhoLooks) {
  const Json document = parsed(R"({"a":1})");
  EXPECT_TRUE(document["b"]["c"].is_null());
  EXPECT_TRUE(document["a"]["c"].is_null());
  EXPECT_FALSE(document.contains("b"));
  EXPECT_FALSE(Json("a").contains("a"));
}

TEST(Json, NumbersAreEqualAsNumbers) {
  EXPECT_EQ(parsed("[1,-1,2]"), Json::array({1.0, -1, 2U}));
  EXPECT_NE(parsed("18446744073709551615"), Json(-1));
  EXPECT_NE(Json(1), Json("1"));
  EXPECT_NE(Json(0), Json());
  EXPECT_NE(Json(false), Json(0));
  EXPECT_EQ(Json(), Json(nullptr));
  EXPECT_EQ(parsed(R"({"a":[null,true]})"), (Json{{"a", Json::array({nullptr, true})}}));
}

TEST(Json, CopiesAreApartAndAValueMayTakeOneOfItsOwn) {
  Json one = {{"inner", {{"a", 1}}}};
  const Json two = one;
  one["inner"]["a"] = 2;
  EXPECT_EQ(two.dump(), R"({"inner":{"a":1}})");
  Json moved = std::move(one["inner"]);
  EXPECT_TRUE(one["inner"].is_null());
  one = std::move(moved);
  one = std::move(one["a"]);
  EXPECT_EQ(one, 2);
  one = {{"inner", {{"b", 3}}}};
  one = one["inner"];
  EXPECT_EQ(one.dump(), R"({"b":3})");
  one = one["b"];
  EXPECT_EQ(one, 3);
}

TEST(ParseJson, SaysWhereATextIsNoJson) {
  for (const char* text : {"", "{", "[1,]", "{\"a\" 1}", "nul", "1 2", "'a'", "{a:1}", "[01]", "+1"}) {
    const auto value = parse_json(text);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(value.error().code, Code::kDataLoss);
    EXPECT_THAT(value.error().message, HasSubstr("not JSON: line 1, column ")) << text;
    EXPECT_EQ(find_json_fault(text)->kind, JsonFault::Kind::kNoJson);
  }
  EXPECT_THAT(parse_json("[1,\n x]").error().message, HasSubstr("line 2, column 2"));
  EXPECT_EQ(find_json_fault("[1e400]")->kind, JsonFault::Kind::kNumberTooLarge);
  EXPECT_EQ(find_json_fault(" {\"a\": [1]} "), std::nullopt);
}

TEST(ParseJson, TakesAsManyLevelsAsTheLimitAndNotOneMore) {
  const std::string open(kJsonDepthLimit, '['), close(kJsonDepthLimit, ']');
  EXPECT_EQ(again(open + close), open + close);
  EXPECT_EQ(find_json_fault("[" + open + close + "]")->kind, JsonFault::Kind::kTooDeep);
  std::string objects = "1";
  for (int level = 0; level < kJsonDepthLimit; ++level) objects = "{\"a\":" + objects + "}";
  EXPECT_EQ(again(objects), objects);
  const auto deeper = parse_json("{\"a\":" + objects + "}");
  ASSERT_FALSE(deeper);
  EXPECT_EQ(deeper.error().code, Code::kDataLoss);
  EXPECT_THAT(deeper.error().message, HasSubstr("nests deeper than 64 levels"));
}

TEST(ParseJson, LevelsThatWereClosedAndBracketsInStringsDoNotCount) {
  const std::string brackets(1000, '[');
  std::string siblings = "[";
  for (int i = 0; i < 1000; ++i) siblings += "[{}],";
  EXPECT_TRUE(parse_json(siblings + "1]"));
  EXPECT_TRUE(parse_json("[\"" + brackets + "\", \"\\\"" + brackets + "\"]"));
  EXPECT_EQ(find_json_fault("[\"\\\\\"," + brackets)->kind, JsonFault::Kind::kTooDeep);
}

TEST(ReadJson, MakesAnErrorOfWhatIsMissingOrMistyped) {
  const auto read = [](const Json& document) -> Result<int> {
    if (document.contains("refused")) return Error{Code::kUnimplemented, "refused"};
    return document.get<int>("count");
  };
  EXPECT_EQ(*read_json(R"({"count":3})", "the receipt is damaged", read), 3);
  const auto error = [&](const char* text) {
    return read_json(text, "the receipt is damaged", read).error();
  };
  EXPECT_EQ(error(R"({"count":3000000000})").message,
            "the receipt is damaged: count is 3000000000, which is not a whole number in its range");
  EXPECT_EQ(error(R"({"count":"3"})").code, Code::kDataLoss);
  EXPECT_EQ(error("{}").message, "the receipt is damaged: there is no count");
  EXPECT_THAT(error("{").message, HasSubstr("the receipt is damaged: not JSON: line 1, column 2"));
  EXPECT_EQ(error(R"({"refused":1})").code, Code::kUnimplemented);
}

}  // namespace
}  // namespace headrace
