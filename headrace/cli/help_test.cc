#include "headrace/cli/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "headrace/base/text.h"
#include "headrace/cli/parse.h"

namespace headrace {
namespace {

constexpr Positional kPositionals[] = {{.name = "FROM", .sentence = "What to read."}};
constexpr Option kHelpOptions[] = {
    {.name = "batch-size",
     .type = OptionType::kInteger,
     .default_value = "128",
     .unit = "records",
     .sentence = "Records in a batch.",
     .minimum = 1,
     .maximum = 1e6},
    {.name = "compression", .default_value = "gzip", .sentence = "Of the shards.", .choices = "none|gzip"},
};
const Command kExample = {.name = "example",
                          .summary = "Do nothing",
                          .details = "Does\nnothing.\n\n  headrace example s3://b/a\n  # and so on",
                          .positionals = kPositionals,
                          .options = kHelpOptions};

TEST(Help, ShowsUsageUnitsDefaultsRangesAndChoices) {
  const std::string text = command_help(kExample);
  EXPECT_THAT(text, testing::StartsWith("headrace example FROM [OPTIONS]\n\nDo nothing.\n"));
  EXPECT_THAT(text, testing::HasSubstr("--batch-size records"));
  EXPECT_THAT(text, testing::HasSubstr("(default 128; from 1 to 1000000)"));
  EXPECT_THAT(text, testing::HasSubstr("--compression none|gzip"));
  EXPECT_THAT(text,
              testing::HasSubstr("\n\nDoes nothing.\n\n  headrace example s3://b/a\n  # and so on\n\nArg"));
}

TEST(Help, OfEveryCommandFitsATerminalAndIsComplete) {
  ASSERT_FALSE(all_commands().empty());
  for (const Command* command : all_commands()) {
    const std::string text = command_help(*command);
    EXPECT_FALSE(command->summary.empty() || command->summary.ends_with('.')) << command->name;
    EXPECT_THAT(text, testing::HasSubstr(concat("  headrace ", command->name))) << "no example";
    for (const Option& option : command->options) {
      EXPECT_FALSE(option.sentence.empty()) << command->name << " --" << option.name;
      EXPECT_NO_THROW(OptionValues{command->options}) << command->name;
    }
    for (const std::string& line : split(text, '\n')) EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST(Help, OverviewNamesEveryCommandOnce) {
  const std::string text = overview(all_commands(), "");
  for (const Command* command : all_commands())
    EXPECT_THAT(text, testing::HasSubstr(concat("\n  ", command->name, " ")));
  const std::string group = overview(all_commands(), "runs");
  EXPECT_THAT(group, testing::HasSubstr("runs show"));
  EXPECT_THAT(group, testing::Not(testing::HasSubstr("lineage")));
}

}  // namespace
}  // namespace headrace
