#include "headrace/base/options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headrace {
namespace {

constexpr Option kTable[] = {
    {.name = "batch-size",
     .type = OptionType::kInteger,
     .default_value = "128",
     .minimum = 1,
     .maximum = 1000},
    {.name = "rate", .type = OptionType::kNumber},
    {.name = "memory", .type = OptionType::kSize, .default_value = "1MiB"},
    {.name = "text", .type = OptionType::kTextList},
    {.name = "policy", .type = OptionType::kText, .default_value = "fail", .choices = "fail|skip"},
    {.name = "json", .type = OptionType::kFlag},
};

TEST(Options, DefaultsAreThereAndAreNotGiven) {
  const OptionValues values(kTable);
  EXPECT_EQ(values.integer("batch-size"), 128);
  EXPECT_EQ(values.size_bytes("memory"), 1U << 20);
  EXPECT_FALSE(values.given("batch-size"));
  EXPECT_FALSE(values.has("rate"));
  EXPECT_FALSE(values.flag("json"));
}

TEST(Options, ValuesAreSetFromText) {
  OptionValues values(kTable);
  ASSERT_TRUE(values.set("rate", "1e-3"));
  ASSERT_TRUE(values.set("text", "a"));
  ASSERT_TRUE(values.set("text", "b"));
  ASSERT_TRUE(values.set("json", "true"));
  EXPECT_EQ(values.number("rate"), 1e-3);
  EXPECT_EQ(values.list("text"), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(values.flag("json"));
}

TEST(Options, ErrorsSayWhatIsAllowed) {
  OptionValues values(kTable);
  const auto message = [&](std::string_view name, std::string_view text) {
    const Status status = values.set(name, text);
    return status ? std::string("accepted") : status.error().message;
  };
  EXPECT_EQ(message("batchsize", "1"), "there is no option --batchsize; did you mean --batch-size?");
  EXPECT_EQ(message("batch-size", "x"), "--batch-size takes a whole number from 1 to 1000, not \"x\"");
  EXPECT_EQ(message("batch-size", "0"), "--batch-size takes a number from 1 to 1000, not \"0\"");
  EXPECT_EQ(message("policy", "ignore"), "--policy takes one of fail, skip, not \"ignore\"");
  EXPECT_EQ(message("rate", "nan"), "--rate takes a number, not \"nan\"");
}

}  // namespace
}  // namespace headrace
