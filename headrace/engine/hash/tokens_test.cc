#include "headrace/engine/hash/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> tokens(std::string_view text) {
  std::vector<std::string> all;
  for_each_hash_token(text, [&](std::string_view token) { all.emplace_back(token); });
  return all;
}

TEST(HashTokens, AreRunsOfLettersAndDigitsInLowerCase) {
  EXPECT_THAT(tokens("It's 7 o'Clock, HAL-9000!"), ElementsAre("it", "s", "7", "o", "clock", "hal", "9000"));
  EXPECT_THAT(tokens(""), IsEmpty());
  EXPECT_THAT(tokens(" \t\n_.\0x"), IsEmpty());
  EXPECT_THAT(tokens(std::string_view("a\0b", 3)), ElementsAre("a", "b"));
}

TEST(HashTokens, KeepLettersOutsideAsciiAsTheyAre) {
  EXPECT_THAT(tokens("Ça ÉTÉ, Добрый день"), ElementsAre("Ça", "ÉtÉ", "Добрый", "день"));
  EXPECT_THAT(tokens("हिन्दी।ไทย"), ElementsAre("हिन्दी", "ไทย"));
}

TEST(HashTokens, EndAtPunctuationOutsideAscii) {
  EXPECT_THAT(tokens("don’t—stop\u00a0now…《好》"), ElementsAre("don", "t", "stop", "now", "好"));
}

TEST(HashTokens, AreSingleCharactersInScriptsWithoutSpaces) {
  EXPECT_THAT(tokens("日本語ですx2"), ElementsAre("日", "本", "語", "で", "す", "x2"));
}

TEST(HashTokens, TakeInvalidBytesAsSeparators) {
  EXPECT_THAT(tokens("a\xff"
                     "b\xe4\xbd"
                     "c\xed\xa0\x80"
                     "d"),
              ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(tokens("end\xf0\x9f"), ElementsAre("end"));
}

TEST(HashTokens, AreCutAtSixtyFourBytesBetweenCharacters) {
  EXPECT_THAT(tokens(std::string(130, 'A')), ElementsAre(std::string(64, 'a'), std::string(64, 'a'), "aa"));
  EXPECT_THAT(tokens(std::string(63, 'x') + "яb"), ElementsAre(std::string(63, 'x'), "яb"));
}

TEST(HashTokens, DoNotDependOnWhereTheyBegin) {
  const std::string words = "@AZ[`az{/09:Zebra1234567 \xd0\xb6Q\x80\xffUnconstitutionally,x";
  const std::vector<std::string> expected = tokens(words);
  EXPECT_THAT(expected, ElementsAre("az", "az", "09", "zebra1234567", "жq", "unconstitutionally", "x"));
  for (std::size_t spaces = 1; spaces < 10; ++spaces) {
    EXPECT_EQ(tokens(std::string(spaces, ' ') + words), expected);
    EXPECT_EQ(tokens(words + std::string(spaces, ' ')), expected);
  }
}

TEST(HashTokens, AreFollowedByEightZeroBytes) {
  const std::string text = "a bcdefgh ijklmnopq " + std::string(64, 'r') + " жж 日";
  for_each_hash_token(text, [](std::string_view token) {
    EXPECT_EQ(std::string_view(token.end(), 8), std::string_view("\0\0\0\0\0\0\0\0", 8)) << token;
  });
}

}  // namespace
}  // namespace headrace
