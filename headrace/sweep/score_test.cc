#include "headrace/sweep/score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

Score made_score() {
  return {.configuration = {{"model", "m:f"}, {"subset", "20 from 0"}},
          .records = 20,
          .seed = 3,
          .metrics = {{"accuracy", 0.75}, {"loss", NAN}},
          .seconds = 1.5,
          .epochs = 4,
          .best_epoch = 2,
          .missing_class = "rare",
          .missing_classes = 3};
}

class Scores : public testing::Test {
 protected:
  Scores() : store(make_memory_store("test")), folder{store, "curve", Url{"memory", "test", "curve"}} {}

  std::shared_ptr<Store> store;
  const Location folder;
};

TEST_F(Scores, AreReadAsTheyWereWritten) {
  EXPECT_FALSE(*read_score(folder, made_score().configuration, {}));
  ASSERT_TRUE(create_score(folder, made_score(), {}));
  const auto read = *read_score(folder, made_score().configuration, {});
  ASSERT_TRUE(read);
  EXPECT_EQ(score_to_json(*read), score_to_json(made_score()));
  EXPECT_TRUE(std::isnan(read->metrics.at("loss")));
  EXPECT_EQ(read->best_epoch, 2U);
  EXPECT_EQ(read->missing_class, "rare");
  EXPECT_EQ(read->missing_classes, 3U);
}

TEST_F(Scores, KeepTheFirstRemarks) {
  Score score = made_score();
  score.remarks = std::vector<std::string>(20, std::string(2'000, 'x'));
  ASSERT_TRUE(create_score(folder, score, {}));
  const auto read = *read_score(folder, score.configuration, {});
  EXPECT_EQ(read->remarks, std::vector<std::string>(kMostScoreRemarks, std::string(kScoreRemarkBytes, 'x')));
}

TEST_F(Scores, AreNotReplaced) {
  ASSERT_TRUE(create_score(folder, made_score(), {}));
  Score later = made_score();
  later.seconds = 9;
  const auto there = create_score(folder, later, {});
  ASSERT_TRUE(there) << there.error().message;
  EXPECT_EQ(there->seconds, 1.5);
}

TEST_F(Scores, ThatAreDamagedOrInTheWrongPlaceAreRefused) {
  const std::string text = score_to_json(made_score());
  const std::string key = "curve/" + score_key(made_score().configuration);
  for (std::size_t byte = 0; byte < text.size(); ++byte) {
    std::string damaged = text;
    damaged[byte] = static_cast<char>(damaged[byte] ^ 1);
    EXPECT_FALSE(parse_score(damaged)) << byte;
    EXPECT_FALSE(parse_score(text.substr(0, byte))) << byte;
  }
  Score other = made_score();
  other.configuration["seed"] = "4";
  ASSERT_TRUE(write_text(*store, key, score_to_json(other)));
  const auto refused = read_score(folder, made_score().configuration, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kDataLoss);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("remove it to have it measured again"));
}

}  // namespace
}  // namespace headrace
