#include "headrace/coordinate/configuration.h"
#include "headrace/base/json.h"
#include "headrace/store/registry.h"

#include <gtest/gtest.h>

#include <string>

namespace headrace {
namespace {

TEST(Configuration, TheSameContinuesAndAnotherIsRefusedByName) {
  const Configuration first = {{"seed", "44"}, {"epochs", "10"}};
  EXPECT_TRUE(check_same(first, first, "memory://test/run"));
  const Status other =
      check_same(first, {{"seed", "45"}, {"epochs", "10"}, {"model", "m"}}, "memory://test/run");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kFailedPrecondition);
  EXPECT_NE(other.error().message.find("memory://test/run was started with another configuration: model was "
                                       "(absent) and is now m; seed was 44 and is now 45"),
            std::string::npos)
      << other.error().message;
}

TEST(Configuration, AValueOfManyMegabytesIsReadAndNotPrinted) {
  StoreRegistry stores{Environment{}};
  const Location object = *stores.open("memory://test/run/_headrace/configuration");
  const Configuration large = {{"schema", std::string(5'000'000, 'v')}};
  ASSERT_TRUE(write_text(*object.store, object.key, Json(large).dump()));
  const auto read = read_configuration(object);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, large);
  EXPECT_TRUE(check_same(*read, large, object.describe()));
  const Status other = check_same(*read, {{"schema", std::string(5'000'000, 'w')}}, object.describe());
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kFailedPrecondition);
  EXPECT_LT(other.error().message.size(), 1'000U);
}

TEST(Configuration, OneThatNestsWithoutEndIsDamaged) {
  StoreRegistry stores{Environment{}};
  const Location object = *stores.open("memory://test/run/_headrace/configuration");
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  ASSERT_TRUE(write_text(*object.store, object.key, R"({"seed":)" + deep + "}"));
  const auto read = read_configuration(object);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kDataLoss);
}

TEST(Configuration, DigestDependsOnTheContentAlone) {
  EXPECT_EQ(configuration_digest({{"a", "1"}, {"b", "2"}}), configuration_digest({{"b", "2"}, {"a", "1"}}));
  EXPECT_NE(configuration_digest({{"a", "1"}}), configuration_digest({{"a", "2"}}));
}

}  // namespace
}  // namespace headrace
