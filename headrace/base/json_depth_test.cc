#include "headrace/base/json_depth.h"

#include <gtest/gtest.h>

#include <string>

namespace headrace {
namespace {

TEST(JsonDepth, AsManyLevelsAsTheLimitAreTakenAndOneMoreIsNot) {
  for (const char bracket : {'[', '{'}) {
    EXPECT_TRUE(check_json_depth(std::string(kJsonDepthLimit, bracket)));
    const Status deeper = check_json_depth(std::string(kJsonDepthLimit + 1, bracket));
    ASSERT_FALSE(deeper);
    EXPECT_EQ(deeper.error().code, Code::kDataLoss);
  }
}

TEST(JsonDepth, WhatWasClosedAndWhatIsInStringsDoesNotCount) {
  const std::string brackets(1000, '[');
  std::string siblings;
  for (int i = 0; i < 1000; ++i) siblings += "[{}],";
  EXPECT_TRUE(check_json_depth(siblings));
  EXPECT_TRUE(check_json_depth("[\"" + brackets + "\", \"\\\"" + brackets + "\"]"));
  EXPECT_FALSE(check_json_depth("[\"\\\\\"," + brackets + "]"));  // the string is one backslash
}

}  // namespace
}  // namespace headrace
