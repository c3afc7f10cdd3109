#include "headrace/cli/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headrace {
namespace {

constexpr Positional kFromTo[] = {{.name = "FROM", .sentence = "Where from."},
                                  {.name = "TO", .sentence = "Where to.", .required = false}};
constexpr Option kOptions[] = {
    {.name = "batch-size",
     .type = OptionType::kInteger,
     .default_value = "128",
     .unit = "records",
     .minimum = 1,
     .letter = 'n'},
    {.name = "text", .type = OptionType::kTextList},
    {.name = "recursive", .type = OptionType::kFlag, .letter = 'r'},
    {.name = "yes", .type = OptionType::kFlag, .letter = 'y'},
};
const Command kCopy = {.name = "copy", .summary = "Copy", .positionals = kFromTo, .options = kOptions};
const Command kRunsLs = {.name = "runs ls", .summary = "List", .positionals = std::span(kFromTo).first(1)};
const Command* const kCommands[] = {&kCopy, &kRunsLs};

Result<ParsedCommandLine> parse(std::vector<std::string> words) {
  return parse_command_line(kCommands, words);
}

std::string error_of(std::vector<std::string> words) {
  const auto line = parse(std::move(words));
  if (line) return "no error";
  EXPECT_EQ(line.error().code, Code::kInvalidArgument);
  return line.error().message;
}

TEST(CommandLine, MixesArgumentsAndOptionsInAnyOrder) {
  const auto line =
      parse({"copy", "--batch-size", "7", "a", "-r", "--text=x", "b", "--text", "-y", "--json"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->command, &kCopy);
  EXPECT_EQ(line->arguments, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(line->options.integer("batch-size"), 7);
  EXPECT_TRUE(line->options.flag("recursive"));
  EXPECT_EQ(line->options.list("text"), (std::vector<std::string>{"x", "-y"}));
  EXPECT_TRUE(line->common.flag("json"));
  EXPECT_FALSE(line->common.flag("quiet"));
}

TEST(CommandLine, TakesLettersTogether) {
  const auto line = parse({"copy", "a", "-ryq"});
  ASSERT_TRUE(line);
  EXPECT_TRUE(line->options.flag("recursive"));
  EXPECT_TRUE(line->options.flag("yes"));
  EXPECT_TRUE(line->common.flag("quiet"));
  EXPECT_FALSE(line->common.flag("json"));
  EXPECT_THAT(error_of({"copy", "a", "-rx"}), testing::HasSubstr("there is no option -rx"));
}

TEST(CommandLine, ALetterMayTakeAValue) {
  const auto line = parse({"copy", "-n", "7", "a", "-r"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->options.integer("batch-size"), 7);
  EXPECT_EQ(line->arguments, std::vector<std::string>{"a"});
  EXPECT_THAT(error_of({"copy", "a", "-n"}),
              testing::HasSubstr("-n takes a value (records), but none follows"));
  EXPECT_THAT(error_of({"copy", "a", "-rn", "7"}), testing::HasSubstr("there is no option -rn"));
}

TEST(CommandLine, TakesAnOptionTwiceOnlyIfItIsAFlagOrAList) {
  EXPECT_TRUE(parse({"copy", "a", "-r", "--recursive", "--text", "x", "--text", "x"}));
  for (const char* const second : {"--batch-size=7", "--batch-size=8"})
    EXPECT_EQ(error_of({"copy", "a", "--batch-size", "7", second}),
              "--batch-size is given more than once, but takes only one value");
  EXPECT_THAT(error_of({"copy", "a", "--metrics", "m", "--metrics", "m"}),
              testing::HasSubstr("--metrics is given more than once"));
}

TEST(CommandLine, TakesADashAndWhatFollowsTwoDashesAsArguments) {
  const auto line = parse({"copy", "-", "--", "--json"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->arguments, (std::vector<std::string>{"-", "--json"}));
  EXPECT_FALSE(line->common.flag("json"));
}

TEST(CommandLine, KnowsCommandsOfTwoWordsAndGroups) {
  EXPECT_EQ(parse({"runs", "ls", "x"})->command, &kRunsLs);
  EXPECT_EQ(parse({"runs"})->help_topic, "runs");
  EXPECT_EQ(parse({"runs"})->command, nullptr);
}

TEST(CommandLine, AsksForHelpInEveryUsualWay) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"help", "runs", "ls"}, {"runs", "ls", "--help"}, {"runs", "ls", "-h"}}) {
    const auto line = parse(words);
    ASSERT_TRUE(line);
    EXPECT_EQ(line->command, &kRunsLs);
    EXPECT_TRUE(line->common.flag("help"));
  }
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{}, {"help"}, {"--help"}, {"-h"}}) {
    EXPECT_EQ(parse(words)->command, nullptr);
  }
}

TEST(CommandLine, SuggestsTheNearestName) {
  EXPECT_THAT(error_of({"copy", "a", "--batchsize", "7"}), testing::HasSubstr("did you mean --batch-size?"));
  EXPECT_THAT(error_of({"copy", "a", "--jsn"}), testing::HasSubstr("did you mean --json?"));
  EXPECT_THAT(error_of({"cpoy"}), testing::HasSubstr("did you mean \"copy\"?"));
  EXPECT_THAT(error_of({"runs", "la"}), testing::HasSubstr("did you mean \"runs ls\"?"));
}

TEST(CommandLine, RefusesWhatDoesNotFit) {
  EXPECT_THAT(error_of({"copy"}), testing::HasSubstr("FROM is missing: Where from."));
  EXPECT_THAT(error_of({"copy", "a", "b", "c"}), testing::HasSubstr("\"c\" is one argument too many"));
  EXPECT_THAT(error_of({"copy", "a", "--batch-size"}), testing::HasSubstr("takes a value (records)"));
  EXPECT_THAT(error_of({"copy", "a", "--batch-size", "0"}), testing::HasSubstr("at least 1"));
  EXPECT_THAT(error_of({"copy", "a", "--recursive=no"}), testing::HasSubstr("takes no value"));
  EXPECT_THAT(error_of({"copy", "a", "-x"}), testing::HasSubstr("there is no option -x"));
  EXPECT_THAT(error_of({"copy", "a", "-json"}),
              testing::HasSubstr("there is no option -json; did you mean --json?"));
  EXPECT_THAT(error_of({"copy", "a", "--r"}), testing::HasSubstr("there is no option --r"));
  EXPECT_THAT(error_of({"--json", "copy"}), testing::HasSubstr("a command must come before"));
}

}  // namespace
}  // namespace headrace
