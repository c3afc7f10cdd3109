#include "headrace/mlflow/state_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/track/json_number.h"
#include "headrace/track/mlflow_run.h"

namespace headrace::mlflow {
namespace {

constexpr std::string_view kKind = "headrace.mlflow.experiments";

// The example of docs/formats/mlflow-state.md.
constexpr std::string_view kExample =
    R"({"change":"5f0c","experiments":{"1":{"created":1795762095000,"name":"cats","tags":{},)"
    R"("updated":1795762095000}},"format":"headrace.mlflow.experiments","version":1,)"
    R"("zz_sha256":"6bdd843c56e930d3330c7590df4c0e5f9f353e51aa6fb11688fc45a374d58719"})"
    "\n";

TEST(StateText, TheExampleOfTheFormatIsReadAndWrittenAgain) {
  const auto state = parse_state(kExample, kKind, "x");
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ((*state)["experiments"]["1"]["name"], Json("cats"));
  EXPECT_FALSE(state->contains("format"));
  EXPECT_EQ(serialize_state(*state, kKind), kExample);
}

TEST(StateText, NumbersAreWrittenAsPythonDoes) {
  const std::vector<std::pair<double, std::string>> numbers = {{0.0, "0.0"},
                                                               {-0.0, "-0.0"},
                                                               {1.0, "1.0"},
                                                               {0.5, "0.5"},
                                                               {100.0, "100.0"},
                                                               {1e15, "1000000000000000.0"},
                                                               {1e16, "1e+16"},
                                                               {1.5e16, "1.5e+16"},
                                                               {0.0001, "0.0001"},
                                                               {0.00001, "1e-05"},
                                                               {-2.5e-7, "-2.5e-07"},
                                                               {1e300, "1e+300"},
                                                               {123456.789, "123456.789"},
                                                               {0.1 + 0.2, "0.30000000000000004"},
                                                               {5e-324, "5e-324"},
                                                               {9007199254740993.0, "9007199254740992.0"}};
  for (const auto& [number, text] : numbers) EXPECT_EQ(canonical_json(number), text);
  EXPECT_EQ(canonical_json(-7), "-7");
  EXPECT_EQ(canonical_json(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
}

TEST(StateText, TextsAreAsciiWithEscapes) {
  EXPECT_EQ(canonical_json("a\"\\\n\r\t\f\b\x01\x7f/ü\U0001f40e"),
            R"("a\"\\\n\r\t\f\b\u0001\u007f/\u00fc\ud83d\udc0e")");
  const Json read = *parse_json(canonical_json("\x7fü\U0001f40e"));
  EXPECT_EQ(read, Json("\x7fü\U0001f40e"));
}

TEST(StateText, NumbersOutsideJsonAreTexts) {
  EXPECT_EQ(number_to_json(-std::numeric_limits<double>::infinity()), Json("-Infinity"));
  EXPECT_EQ(read_number("Infinity"), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(*read_number(number_to_json(std::nan("")))));
  EXPECT_FALSE(read_number("1.5"));
  EXPECT_FALSE(read_number(true));
}

TEST(StateText, DamageIsTold) {
  std::string damaged(kExample);
  damaged[damaged.find("cats")] = 'b';
  EXPECT_EQ(parse_state(damaged, kKind, "x").error().code, Code::kDataLoss);
  EXPECT_EQ(parse_state(kExample, "headrace.mlflow.run", "x").error().code, Code::kDataLoss);
  for (const std::string_view text : {"", "[]", "{}", "null", "{\"format\":1}"})
    EXPECT_EQ(parse_state(text, kKind, "x").error().code, Code::kDataLoss) << text;
  std::string next = R"({"format":"headrace.mlflow.experiments","version":2})";
  const std::string digest = sha256_hex(as_bytes(next));
  next.pop_back();
  const auto newer = parse_state(concat(next, R"(,"zz_sha256":")", digest, "\"}\n"), kKind, "x");
  EXPECT_EQ(newer.error().code, Code::kUnimplemented);
}

}  // namespace
}  // namespace headrace::mlflow
