#include "headrace/coordinate/ownership_entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <string>

#include "headrace/record/manifest.h"
#include "headrace/record/sealed_json.h"

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

TEST(OwnershipEntry, EveryActionHasItsNameAndIsReadAgain) {
  using Action = OwnershipAction;
  const std::vector<std::pair<Action, std::string>> names = {{Action::kBegin, "begin"},
                                                             {Action::kTakeOver, "take over"},
                                                             {Action::kOverwrite, "overwrite"},
                                                             {Action::kContinue, "continue"},
                                                             {Action::kRemove, "remove"}};
  for (const auto& [action, name] : names) {
    const bool begins = action != Action::kTakeOver && action != Action::kContinue;
    EXPECT_EQ(begins_generation(action), begins) << name;
    const std::string text = serialize_entry({.action = action, .generation = begins ? 7U : 1U});
    EXPECT_THAT(text, testing::HasSubstr("{\"action\":\"" + name + "\""));
    const auto read = parse_entry(as_bytes(text), 7);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->action, action);
  }
}

TEST(OwnershipEntry, ItsActorIsReadAsItWasWritten) {
  const Actor actor = parse_entry(as_bytes(serialize_entry(sample())), 7)->actor;
  EXPECT_EQ(actor.command, "train");
  EXPECT_EQ(actor.run, "r-17");
  EXPECT_EQ(actor.host, "node-3");
  EXPECT_EQ(actor.time, "2026-11-24T10:00:00Z");
  EXPECT_EQ(actor.id, "5f");
}

TEST(OwnershipEntry, AnotherFormatOrActionIsDamageThoughTheChecksumIsRight) {
  const auto failure = [](const std::string& from, const std::string& to) {
    std::string text = serialize_entry(sample());
    text = text.substr(0, text.find(",\"zz_crc32c\"")) + "}\n";
    text.replace(text.find(from), from.size(), to);
    const auto read = parse_entry(as_bytes(seal_json(text)), 7);
    return read ? "none" : std::string(code_name(read.error().code)) + " " + read.error().message;
  };
  EXPECT_EQ(failure("overwrite", "overwrite"), "none");
  EXPECT_THAT(failure("overwrite", "overturn"), testing::StartsWith("DATA_LOSS"));
  EXPECT_THAT(failure("overwrite", "overturn"), testing::HasSubstr("action is overturn"));
  EXPECT_THAT(failure("headrace.ownership", "headrace.other"), testing::StartsWith("DATA_LOSS"));
  EXPECT_THAT(failure("\"generation\":7", "\"generation\":\"7\""), testing::StartsWith("DATA_LOSS"));
  EXPECT_THAT(failure("\"version\":1", "\"version\":2"),
              testing::HasSubstr("version 2; this Headrace reads up to 1"));
}

TEST(Actor, IsThisProcess) {
  const auto now = std::chrono::system_clock::time_point(std::chrono::seconds(1'795'514'400));
  const Actor actor = this_process("train", "r-17", now);
  EXPECT_EQ(actor.command, "train");
  EXPECT_EQ(actor.run, "r-17");
  EXPECT_EQ(actor.process, static_cast<std::uint64_t>(getpid()));
  EXPECT_EQ(actor.time, "2026-11-24T10:00:00Z");
  EXPECT_EQ(actor.id.size(), 16U);
  EXPECT_NE(actor.host, "");
  EXPECT_NE(actor.host, "?");
  EXPECT_EQ(describe({.command = "rm", .host = "h", .process = 5, .time = "t"}),
            "headrace rm (process 5 on h, since t)");
}

}  // namespace
}  // namespace headrace
