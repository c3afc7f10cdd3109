#include "headrace/track/configuration.h"
#include "headrace/store/registry.h"

#include <gtest/gtest.h>

#include <string>

namespace headrace {
namespace {

TEST(Configuration, TheSameContinuesAndAnotherIsRefusedByName) {
  StoreRegistry stores{Environment{}};
  const Location object = *stores.open("memory://test/run/_headrace/configuration");
  const Configuration first = {{"seed", "44"}, {"epochs", "10"}};
  EXPECT_TRUE(claim_configuration(object, first));
  EXPECT_TRUE(claim_configuration(object, first));
  const auto other = claim_configuration(object, {{"seed", "45"}, {"epochs", "10"}, {"model", "m"}});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kFailedPrecondition);
  EXPECT_NE(other.error().message.find("model was (absent) and is now m; seed was 44 and is now 45"),
            std::string::npos)
      << other.error().message;
}

TEST(Configuration, OneThatNestsWithoutEndIsDamaged) {
  StoreRegistry stores{Environment{}};
  const Location object = *stores.open("memory://test/run/_headrace/configuration");
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  ASSERT_TRUE(write_text(*object.store, object.key, R"({"seed":)" + deep + "}"));
  const auto claimed = claim_configuration(object, {{"seed", "44"}});
  ASSERT_FALSE(claimed);
  EXPECT_EQ(claimed.error().code, Code::kDataLoss);
}

TEST(Configuration, DigestDependsOnTheContentAlone) {
  EXPECT_EQ(configuration_digest({{"a", "1"}, {"b", "2"}}), configuration_digest({{"b", "2"}, {"a", "1"}}));
  EXPECT_NE(configuration_digest({{"a", "1"}}), configuration_digest({{"a", "2"}}));
}

}  // namespace
}  // namespace headrace
