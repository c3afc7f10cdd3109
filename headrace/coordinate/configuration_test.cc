#include "headrace/coordinate/configuration.h"

#include "headrace/base/digest.h"
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

TEST(Configuration, ADifferenceShowsValuesUpToTenThousandBytes) {
  const auto difference = [](const std::string& before, const std::string& now) {
    return check_same({{"a", before}}, {{"a", now}}, "it").error().message;
  };
  EXPECT_NE(difference("", "x").find("a was (none) and is now x. Give the same"), std::string::npos);
  const std::string most(10'000, 'v');
  EXPECT_NE(difference("x", most).find(most), std::string::npos);
  EXPECT_NE(difference("x", most + "v").find("a was x and is now 10001 bytes with the SHA-256 "),
            std::string::npos);
}

TEST(Configuration, IsReadFromAnObjectWithValuesOfAnyType) {
  StoreRegistry stores{Environment{}};
  const Location object = *stores.open("memory://test/run/_headrace/configuration");
  EXPECT_EQ(read_configuration(object).error().code, Code::kNotFound);
  ASSERT_TRUE(write_text(*object.store, object.key, R"({"stage":"train 2","seed":44,"quick":true})"));
  EXPECT_EQ(*read_configuration(object),
            (Configuration{{"stage", "train 2"}, {"seed", "44"}, {"quick", "true"}}));
  for (const char* text : {"", "{", "[]", "7"}) {
    ASSERT_TRUE(write_text(*object.store, object.key, text));
    const auto read = read_configuration(object);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Code::kDataLoss) << text;
    EXPECT_EQ(read.error().message, object.describe() + " is damaged: start over with --overwrite");
  }
}

TEST(Configuration, DigestIsOfItsJsonInOneLine) {
  EXPECT_EQ(configuration_digest({{"b", "2"}, {"a", "1"}}),
            sha256_hex(as_bytes("{\"a\":\"1\",\"b\":\"2\"}\n")));
}

}  // namespace
}  // namespace headrace
