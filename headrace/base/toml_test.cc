#include "headrace/base/toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TomlTable parsed_toml(std::string_view text) {
  auto table = parse_toml(text, "a.toml");
  EXPECT_TRUE(table) << table.error().message;
  return table ? *std::move(table) : TomlTable{};
}

std::string problem_of(std::string_view text) {
  const auto table = parse_toml(text, "a.toml");
  return table ? "" : table.error().message;
}

TEST(Toml, ValuesHaveTheirTypesAndLines) {
  const TomlTable table = parsed_toml(
      "\xef\xbb\xbf"
      R"(
b = 2
a = 1.5
[t."x y"]
list = ["é", true, 1979-05-27]
)");
  EXPECT_EQ(table.entries.size(), 3U);
  EXPECT_EQ(*table.find("b")->get<std::int64_t>(), 2);
  EXPECT_EQ(table.find("b")->number(), 2.0);
  EXPECT_EQ(table.find("b")->line, 2U);
  EXPECT_EQ(table.find("a")->get<std::int64_t>(), nullptr);
  EXPECT_EQ(table.find("a")->number(), 1.5);
  EXPECT_EQ(table.find("c"), nullptr);
  const auto& inner = *table.find("t")->get<TomlTable>()->find("x y")->get<TomlTable>();
  const auto& list = *inner.find("list")->get<TomlArray>();
  EXPECT_EQ(*list[0].get<std::string>(), "é");
  EXPECT_TRUE(*list[1].get<bool>());
  EXPECT_TRUE(list[2].get<std::monostate>());
}

TEST(Toml, WhatIsNoTomlIsToldWithItsLine) {
  EXPECT_THAT(problem_of("a = 1\nb = ["), HasSubstr("a.toml, line 2: "));
  EXPECT_THAT(problem_of("a = 1\n\nb = word"), HasSubstr("line 3: a text needs quotes: b = \"word\""));
  EXPECT_THAT(problem_of("a = \"\xff\""), HasSubstr("line 1: a byte that is not UTF-8"));
  EXPECT_THAT(problem_of(std::string_view("a = 1\nb = \"\0\"", 13)),
              HasSubstr("line 2: a control character"));
}

TEST(Toml, NothingNestsDeep) {
  const auto repeated = [](std::string_view part, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += part;
    return out;
  };
  EXPECT_EQ(problem_of(concat("[", repeated("a.", 900), "a]\n", repeated("b.", 900), "b = 1")), "");
  for (const std::string& deep :
       {concat("x = 1\n", repeated("a.", 100'000), "a = 1"),
        concat("x = 1\n[", repeated("\"a\".", 100'000), "a]"),
        concat("x = 1\na = ", repeated("{a = ", 100'000)), concat("x = 1\na = ", repeated("[\n", 100'000))})
    EXPECT_THAT(problem_of(deep), HasSubstr("more than 1000 dots and brackets outside of texts"));
  const std::string dots = repeated(".[{", 1'000);
  EXPECT_EQ(problem_of(concat("a = \"", dots, "\\\"", dots, "\" # ", dots, "\nb = '", dots, "'\nc = \"\"\"",
                              dots, "\n\"", dots, "\"\"\"\nd = '''", dots, "'", dots, "'''")),
            "");
}

TEST(Toml, AReaderOfATableKnowsItsKeys) {
  const TomlTable table = parsed_toml("lanes = 4\nname = \"m\"\nwords = [\"a\", \"b\"]\n\nlanez = 1");
  TomlKeys keys(table, "[models.m]", "a.toml");
  int lanes = 0;
  std::string name;
  std::vector<std::string> words;
  ASSERT_TRUE(keys.integer("lanes", 1, 8, lanes));
  ASSERT_TRUE(keys.text("name", name));
  ASSERT_TRUE(keys.texts("words", words));
  EXPECT_EQ(lanes, 4);
  EXPECT_EQ(name, "m");
  EXPECT_THAT(words, ElementsAre("a", "b"));
  EXPECT_EQ(keys.integer("lanes", 5, 8, lanes).error().message,
            "a.toml, line 1: [models.m]: lanes must be a whole number from 5 to 8");
  EXPECT_EQ(keys.finish().error().message,
            "a.toml, line 5: [models.m]: lanez is not known here; did you mean lanes?");
}

}  // namespace
}  // namespace headrace
