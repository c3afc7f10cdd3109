#include "headrace/model/assignments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST(Assignments, NameFeaturesAndWhereTheyGo) {
  const auto parsed = parse_assignments("--features", "age, years=age,work = job");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_THAT(parsed->values, ElementsAre("age", "job"));
  EXPECT_THAT(parsed->by_name, ElementsAre(Pair("work", "job"), Pair("years", "age")));
  EXPECT_TRUE(parsed->is_selection) << "age is named alone";
  EXPECT_FALSE(parse_assignments("--features", "years=age")->is_selection);
}

TEST(Assignments, OfNothingAreNone) {
  const auto parsed = parse_assignments("--features", "");
  ASSERT_TRUE(parsed);
  EXPECT_THAT(parsed->values, IsEmpty());
  EXPECT_THAT(parsed->by_name, IsEmpty());
}

TEST(Assignments, WhatIsNotOneIsNamed) {
  for (const char* const text : {"a,,b", "a,", "=a", "a=", " "}) {
    const auto parsed = parse_assignments("--labels", text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Code::kInvalidArgument);
    EXPECT_THAT(parsed.error().message, HasSubstr("is neither NAME nor NAME=FEATURE"));
  }
  EXPECT_THAT(parse_assignments("--labels", "a=b,a=c").error().message,
              HasSubstr("--labels a=b,a=c: a is given twice"));
}

}  // namespace
}  // namespace headrace
