#include "headrace/coordinate/ownership_entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "headrace/record/manifest.h"

namespace headrace {
namespace {

OwnershipEntry sample() {
  return {.action = OwnershipAction::kOverwrite,
          .generation = 7,
          .published = 5,
          .output_entry = 3,
          .configuration = {{"stage", "train 2"}, {"seed", "44"}},
          .actor = {.command = "train",
                    .run = "r-17",
                    .host = "node-3",
                    .process = 4711,
                    .time = "2026-11-24T10:00:00Z",
                    .id = "5f"}};
}

TEST(OwnershipEntry, IsReadAsItWasWritten) {
  const std::string text = serialize_entry(sample());
  EXPECT_TRUE(is_entry(as_bytes(text)));
  const auto read = parse_entry(as_bytes(text), 7);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(serialize_entry(*read), text);
  EXPECT_EQ(read->action, OwnershipAction::kOverwrite);
  EXPECT_EQ(read->generation, 7U);
  EXPECT_EQ(read->published, 5U);
  EXPECT_EQ(read->output_entry, 3U);
  EXPECT_EQ(read->configuration.at("seed"), "44");
  EXPECT_EQ(read->actor.process, 4711U);
}

TEST(OwnershipEntry, IsAsTheFormatsPageShows) {
  OwnershipEntry entry{
      .generation = 1, .configuration = {{"stage", "train 2"}}, .actor = {.command = "train"}};
  EXPECT_THAT(
      serialize_entry(entry),
      testing::StartsWith(
          R"({"action":"begin","actor":{"command":"train","host":"","id":"","process":0,"run":"","time":""},)"
          R"("configuration":{"stage":"train 2"},"format":"headrace.ownership","generation":1,)"
          R"("output_entry":0,"published":0,"version":1,"zz_crc32c":")"));
}

TEST(OwnershipEntry, EveryDamageIsNoticed) {
  const std::string text = serialize_entry(sample());
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    const auto read = parse_entry(as_bytes(damaged), 7);
    ASSERT_FALSE(read) << at;
    EXPECT_TRUE(read.error().code == Code::kDataLoss || read.error().code == Code::kUnimplemented) << at;
    EXPECT_FALSE(parse_entry(as_bytes(text.substr(0, at)), 7)) << at;
  }
}

TEST(OwnershipEntry, NumbersThatItCannotHaveInAChainAreDamage) {
  const auto is_accepted = [](OwnershipAction action, std::uint64_t generation, std::uint64_t published) {
    const std::string text =
        serialize_entry({.action = action, .generation = generation, .published = published});
    const auto read = parse_entry(as_bytes(text), 7);
    EXPECT_TRUE(read || read.error().code == Code::kDataLoss);
    return read.has_value();
  };
  for (const OwnershipAction action : {OwnershipAction::kBegin, OwnershipAction::kRemove}) {
    EXPECT_TRUE(is_accepted(action, 7, 0));
    EXPECT_FALSE(is_accepted(action, 7, 6));
    EXPECT_FALSE(is_accepted(action, 6, 0));
    EXPECT_FALSE(is_accepted(action, std::uint64_t{1} << 63, 0));
  }
  EXPECT_TRUE(is_accepted(OwnershipAction::kOverwrite, 7, 6));
  EXPECT_FALSE(is_accepted(OwnershipAction::kOverwrite, 6, 5));
  EXPECT_FALSE(is_accepted(OwnershipAction::kOverwrite, 7, 7));
  for (const OwnershipAction action : {OwnershipAction::kTakeOver, OwnershipAction::kContinue}) {
    EXPECT_TRUE(is_accepted(action, 0, 6));
    EXPECT_TRUE(is_accepted(action, 6, 0));
    EXPECT_FALSE(is_accepted(action, 7, 6));
    EXPECT_FALSE(is_accepted(action, 6, 7));
    EXPECT_FALSE(is_accepted(action, 6, 8));
  }
}

TEST(OwnershipEntry, ANewerVersionIsRefusedAsSuch) {
  std::string text = serialize_entry(sample());
  text.replace(text.find("\"version\":1"), 11, "\"version\":2");
  const auto read = parse_entry(as_bytes(text), 7);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kUnimplemented);
}

TEST(OwnershipEntry, AManifestIsNone) {
  const std::string manifest = serialize_manifest({.kind = "dataset"});
  EXPECT_FALSE(is_entry(as_bytes(manifest)));
  EXPECT_FALSE(parse_entry(as_bytes(manifest), 7));
}

TEST(Actor, NoTwoAreTheSame) {
  const auto now = std::chrono::system_clock::time_point(std::chrono::seconds(1'795'514'400));
  const Actor first = this_process("train", "r-17", now), second = this_process("train", "r-17", now);
  EXPECT_NE(first.id, second.id);
  EXPECT_THAT(describe(first),
              testing::MatchesRegex(R"(headrace train, run r-17 \(process [0-9]+ on .+, since 20.*Z\))"));
}

}  // namespace
}  // namespace headrace
