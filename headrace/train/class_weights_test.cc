#include "headrace/train/class_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

const std::vector<std::string> kMail = {"ham", "spam", "a=b"};

std::string error_of(std::string_view text, const std::vector<std::string>& vocabulary = kMail) {
  const auto parsed = parse_class_weights(text, vocabulary);
  EXPECT_FALSE(parsed);
  return parsed ? "" : parsed.error().message;
}

TEST(ParseClassWeights, FindsClassesByTheirNames) {
  EXPECT_THAT(*parse_class_weights("spam=5, ham=0.5", kMail), ElementsAre(Pair(0, 0.5), Pair(1, 5)));
  EXPECT_THAT(*parse_class_weights("a=b=2", kMail), ElementsAre(Pair(2, 2)));
  EXPECT_THAT(*parse_class_weights("spam=0", kMail), ElementsAre(Pair(1, 0)));
}

TEST(ParseClassWeights, TakesNumbersWhereThereAreNoNames) {
  EXPECT_THAT(*parse_class_weights("7=2,0=1", {}), ElementsAre(Pair(0, 1), Pair(7, 2)));
  EXPECT_THAT(error_of("spam=1", {}), HasSubstr("there is no class spam; the classes are numbers"));
  EXPECT_THAT(error_of("99999999999=1", {}), HasSubstr("there is no class"));
}

TEST(ParseClassWeights, SaysWhatIsWrong) {
  EXPECT_THAT(error_of("1=2"), HasSubstr("there is no class 1; the classes are ham, spam, a=b"));
  EXPECT_THAT(error_of("spam"), HasSubstr("\"spam\" has no weight"));
  EXPECT_THAT(error_of(""), HasSubstr("give balanced, or CLASS=WEIGHT"));
  EXPECT_THAT(error_of("spam=1,spam=2"), HasSubstr("spam is given twice"));
  for (const char* weight : {"-1", "nan", "inf", "much", ""})
    EXPECT_THAT(error_of(std::string("spam=") + weight), HasSubstr("is not a weight")) << weight;
}

TEST(BalancedClassWeights, GiveEachClassTheSameShare) {
  const auto weights = balanced_class_weights({{0, 30}, {2, 10}});
  EXPECT_THAT(weights, ElementsAre(Pair(0, testing::DoubleEq(40.0 / 60)), Pair(2, 2)));
  EXPECT_DOUBLE_EQ(weights.at(0) * 30, weights.at(2) * 10);
  EXPECT_TRUE(balanced_class_weights({}).empty());
  EXPECT_THAT(balanced_class_weights({{-1, 30}, {1, 10}}), ElementsAre(Pair(0, testing::_), Pair(1, 2)));
  EXPECT_EQ(balanced_class_weights({{-1, 7}, {0, 30}, {2, 10}}), weights) << "they are ignored";
}

}  // namespace
}  // namespace headrace
