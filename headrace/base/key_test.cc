#include "headrace/base/key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/text.h"

namespace headrace {
namespace {

TEST(Key, IsSegmentsJoinedBySlashes) {
  for (const std::string& key :
       {std::string("a"), std::string("a/b.c/..d/e.."), std::string("ä/€"), std::string(255, 's') + "/b",
        join(std::vector<std::string>(512, "a"), "/") + "a"})
    EXPECT_TRUE(check_key(key)) << key;
}

TEST(Key, ThatBreaksARuleIsRefusedByItsName) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", "empty"},
      {"/a", "between slashes is empty"},
      {"a/", "is empty"},
      {"a//b", "is empty"},
      {".", "\"..\""},
      {"../a", "\"..\""},
      {"a/../b", "\"..\""},
      {"a/.", "\"..\""},
      {"a\xff", "not UTF-8"},
      {std::string("a\0b", 3), "zero byte"},
      {std::string(256, 's'), "255 bytes"},
      {join(std::vector<std::string>(513, "a"), "/"), "1,024 bytes"}};
  for (const auto& [key, why] : wrong) {
    const Status status = check_key(key);
    ASSERT_FALSE(status) << key;
    EXPECT_EQ(status.error().code, Code::kInvalidArgument);
    EXPECT_THAT(status.error().message, testing::HasSubstr(why)) << key;
  }
}

}  // namespace
}  // namespace headrace
