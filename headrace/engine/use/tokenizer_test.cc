#include "headrace/engine/use/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/engine/use/test_models.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing_models::character_map;
using testing_models::field;
using testing_models::model_file;

const std::string kSpace = "\u2581";

Result<Tokenizer> tokenizer_of(const std::string& file) {
  HEADRACE_TRY(const SentencePieceModel model, parse_sentencepiece_model(as_bytes(file)));
  return Tokenizer::create(model);
}

std::vector<std::int32_t> ids(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::int32_t> all;
  tokenizer.tokenize(
      text, [&](std::span<const std::int32_t> some) { all.insert(all.end(), some.begin(), some.end()); });
  return all;
}

// Ids 3 … 8.
std::string small_model(std::string_view map = {}) {
  return model_file({{kSpace, -2}, {"a", -3}, {"b", -3}, {"ab", -4}, {kSpace + "ab", -5}, {"я", -1}}, map);
}

TEST(Tokenizer, TakesTheSegmentationOfTheHighestTotalScore) {
  const auto tokenizer = tokenizer_of(small_model());
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(tokenizer->vocabulary_size(), 9U);
  EXPECT_THAT(ids(*tokenizer, "ab"), ElementsAre(1, 7, 2));  // ▁ab −5 before ▁+ab −6
  EXPECT_THAT(ids(*tokenizer, "aba"), ElementsAre(1, 7, 4, 2));
  EXPECT_THAT(ids(*tokenizer, "яab"), ElementsAre(1, 3, 8, 6, 2));
}

TEST(Tokenizer, MakesEachCharacterThatNoPieceCoversUnknown) {
  const auto tokenizer = tokenizer_of(small_model());
  EXPECT_THAT(ids(*tokenizer, "a日x"), ElementsAre(1, 3, 4, 0, 0, 2));
}

TEST(Tokenizer, DropsSurplusSpaces) {
  const auto tokenizer = tokenizer_of(small_model());
  EXPECT_THAT(ids(*tokenizer, ""), ElementsAre(1, 0, 2));
  EXPECT_THAT(ids(*tokenizer, "   "), ElementsAre(1, 0, 2));
  EXPECT_EQ(ids(*tokenizer, "  a   b "), ids(*tokenizer, "a b"));
  EXPECT_EQ(ids(*tokenizer, "a" + kSpace + kSpace), ids(*tokenizer, "a"));
}

TEST(Tokenizer, NormalisesFirst) {
  const auto tokenizer =
      tokenizer_of(small_model(character_map({{'A', "a"}, {'\t', " "}, {'@', "ab a"}, {'\r', ""}})));
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(ids(*tokenizer, "A\t\tA"), ids(*tokenizer, "a a"));
  EXPECT_EQ(ids(*tokenizer, "\t@@\r"), ids(*tokenizer, "ab aab a"));
  EXPECT_THAT(ids(*tokenizer, "\r"), ElementsAre(1, 0, 2));
}

TEST(Tokenizer, CountsIllFormedBytesAsReplacementCharacters) {
  const auto tokenizer = tokenizer_of(small_model());
  EXPECT_EQ(ids(*tokenizer,
                "a\xff"
                "b\xe4\xbd"),
            ids(*tokenizer, "a\ufffdb\ufffd"));
}

TEST(Tokenizer, SegmentsALongTextLikeItsParts) {
  const auto tokenizer = tokenizer_of(small_model());
  std::string text;
  std::vector<std::int32_t> expected = {1};
  for (int i = 0; i < 30'000; ++i) {
    text += i % 3 == 0 ? "ab " : "яa ";
    const std::vector<std::int32_t> word = ids(*tokenizer, i % 3 == 0 ? "ab" : "яa");
    expected.insert(expected.end(), word.begin() + 1, word.end() - 1);
  }
  expected.push_back(2);
  EXPECT_EQ(ids(*tokenizer, text), expected);
}

TEST(Tokenizer, CoversATextInWhichEveryCutWouldSplitAPiece) {
  const auto tokenizer = tokenizer_of(model_file({{kSpace, -2}, {"a", -3}, {"aa", -4}, {"aaa", -6.5}}));
  const std::string text(100'001, 'a');
  std::size_t letters = 0;
  for (const std::int32_t id : ids(*tokenizer, text)) letters += id >= 4 ? id - 3 : 0;
  EXPECT_EQ(letters, text.size());
}

TEST(Tokenizer, RefusesAnotherKindOfModel) {
  EXPECT_EQ(tokenizer_of("").error().code, Code::kDataLoss);
  const std::string pieces = small_model();
  EXPECT_EQ(tokenizer_of(pieces + field(2, field(3, 2))).error().code, Code::kUnimplemented);
  EXPECT_EQ(tokenizer_of(pieces + field(3, field(3, 0))).error().code, Code::kUnimplemented);
  EXPECT_EQ(tokenizer_of(field(1, field(1, "a"))).error().code, Code::kInvalidArgument);
  EXPECT_EQ(tokenizer_of(field(1, field(1, "\xff"))).error().code, Code::kDataLoss);
  EXPECT_EQ(tokenizer_of(model_file({{std::string(2000, 'x'), 0}})).error().code, Code::kInvalidArgument);
}

TEST(Tokenizer, SurvivesAModelWithAnyByteChangedOrCutOff) {
  const std::string original = small_model(character_map({{'A', "a"}, {'@', "ab a"}}));
  for (std::size_t at = 0; at < original.size(); at += at < 200 ? 1 : 7) {
    for (const int change : {1, 0x80, 0xff}) {
      std::string bytes = original;
      bytes[at] = static_cast<char>(bytes[at] ^ change);
      const auto tokenizer = tokenizer_of(bytes);
      if (tokenizer) {
        EXPECT_EQ(ids(*tokenizer, "A ab@ya").front(), 1);
      }
    }
    (void)tokenizer_of(original.substr(0, at));
  }
}

}  // namespace
}  // namespace headrace
