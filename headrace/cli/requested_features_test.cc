#include "headrace/cli/requested_features.h"

#include <gmock/gmock.h>

namespace headrace {
namespace {

using testing::ElementsAre;

std::string shown(const std::vector<NamedCell>& cells, std::string_view toml) {
  RequestedFeatures features(*parse_schema(toml, "a test"));
  std::string out;
  for (const Feature& feature : features.of({.cells = cells})) {
    out += feature.name + "=";
    if (const auto* const floats = std::get_if<std::vector<float>>(&feature.values))
      for (const float each : *floats) out += std::to_string(each).substr(0, 4) + " ";
    if (const auto* const whole = std::get_if<std::vector<std::int64_t>>(&feature.values))
      for (const std::int64_t each : *whole) out += std::to_string(each) + " ";
    if (const auto* const texts = std::get_if<std::vector<BytesView>>(&feature.values))
      for (const BytesView each : *texts) out += std::string(as_text(each)) + " ";
  }
  return out;
}

NamedCell text_cell(std::string_view name, std::string_view text) {
  return {name, {.kind = CellKind::kBytes, .data = as_bytes(text)}};
}

constexpr std::string_view kSchema = R"(
missing = ["n/a"]
decimal = ","
[features.age]
type = "float32"
default = "7"
[features.count]
type = "int64"
column = "number"
[features.point]
type = "float32"
columns = ["x", "y"]
[features.name]
type = "string"
)";

TEST(RequestedFeatures, NumbersAreReadFromTextsAsTheSchemaSays) {
  EXPECT_EQ(shown({text_cell("age", "80,5"), text_cell("number", " 3 ")}, kSchema), "age=80.5 count=3 ");
  EXPECT_EQ(shown({text_cell("x", "1"), text_cell("y", "2,5")}, kSchema), "point=1.00 2.50 ");
}

TEST(RequestedFeatures, WhatCountsAsMissingIsMissingAndGetsNoDefault) {
  EXPECT_EQ(shown({text_cell("age", "n/a")}, kSchema), "");
  EXPECT_EQ(shown({text_cell("name", "n/a")}, kSchema), "name=");
}

TEST(RequestedFeatures, WhatIsNoNumberAndWhatNoFeatureHasStayAsTheyCame) {
  EXPECT_EQ(shown({text_cell("age", "old"), text_cell("other", "1"), text_cell("name", "Ada")}, kSchema),
            "age=old other=1 name=Ada ");
}

}  // namespace
}  // namespace headrace
