#include "headrace/engine/hash/hash_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace headrace {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> encoded(int dimension, std::vector<std::string_view> texts) {
  const auto encoder = make_hash_encoder(dimension);
  std::vector<float> out(texts.size() * dimension, NAN);
  EXPECT_TRUE((*encoder)->encode(texts, out));
  return out;
}

TEST(HashEncoder, GivesTheVectorsOfTheFormatPage) {
  EXPECT_THAT(encoded(8, {"Hello"}), ElementsAre(0, 0, 0, 0, 0, 0, 0, -1));
  EXPECT_THAT(encoded(8, {"Not good, not bad."}),
              ElementsAre(0, 0x1.bee906p-3F, 0x1.bee906p-1F, 0, 0, -0x1.bee906p-2F, 0, 0));
  EXPECT_THAT(encoded(8, {"日本"}),
              ElementsAre(0, -0x1.279a74p-1F, -0x1.279a74p-1F, 0, 0, -0x1.279a74p-1F, 0, 0));
}

TEST(HashEncoder, GivesZerosForATextWithoutATokenAndLengthOneOtherwise) {
  EXPECT_THAT(encoded(512, {"", " -- \xff"}), Each(0.0F));
  const std::vector<float> out =
      encoded(512, {"A rather long text, with many words of which some words are equal."});
  double squares = 0;
  for (const double x : out) squares += x * x;
  EXPECT_NEAR(squares, 1, 1e-6);
}

TEST(HashEncoder, GivesATextTheSameVectorWhateverElseIsInTheCall) {
  const std::vector<float> alone = encoded(64, {"the second text"});
  const std::vector<float> among = encoded(64, {"the first", "the second text", std::string_view{}});
  EXPECT_EQ(alone, std::vector<float>(among.begin() + 64, among.begin() + 128));
}

TEST(HashEncoder, TellsWordOrder) {
  EXPECT_NE(encoded(512, {"dog bites man"}), encoded(512, {"man bites dog"}));
}

TEST(HashEncoder, IsNamedAndIdentifiedWithItsDimension) {
  const auto encoder = *make_hash_encoder(512);
  EXPECT_EQ(encoder->name(), "hash:512");
  EXPECT_EQ(encoder->dimension(), 512);
  EXPECT_EQ(encoder->weights_digest(), "93fecee8c95c2bb4067754b0b7f1f5bf573dbc74ab3953a56dcced6dc494adc3");
}

TEST(HashEncoder, RefusesDimensionsOutsideItsRange) {
  EXPECT_TRUE(make_hash_encoder(1));
  EXPECT_TRUE(make_hash_encoder(65536));
  for (const int dimension : {0, -3, 65537}) {
    const auto encoder = make_hash_encoder(dimension);
    ASSERT_FALSE(encoder);
    EXPECT_EQ(encoder.error().code, Code::kInvalidArgument);
    EXPECT_THAT(encoder.error().message, HasSubstr("between 1 and 65536"));
  }
}

}  // namespace
}  // namespace headrace
