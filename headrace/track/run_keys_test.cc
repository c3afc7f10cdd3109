#include "headrace/track/run_keys.h"

#include <gtest/gtest.h>

#include <string>

namespace headrace {
namespace {

using std::chrono::milliseconds;
using Time = std::chrono::system_clock::time_point;

TEST(RunKeys, ARunIdThatIsMadeIsATimeAndRandomBits) {
  const std::string id = make_run_id(Time(milliseconds(1795231560125)), 0x1f2e3d4c);
  EXPECT_EQ(id, "20261121-032600-1f2e3d4c");
  EXPECT_TRUE(check_run_name(id));
}

TEST(RunKeys, ANameThatIsGivenHasFewKindsOfCharacters) {
  for (const char* name : {"imdb-1", "a", "9", "A.b_c-d"}) EXPECT_TRUE(check_run_name(name)) << name;
  for (const char* name : {"", "-a", ".a", "_a", "a/b", "a,b", "a b", "\xc3\xa9"})
    EXPECT_EQ(check_run_name(name).error().code, Code::kInvalidArgument) << name;
  EXPECT_TRUE(check_run_name(std::string(64, 'a')));
  EXPECT_FALSE(check_run_name(std::string(65, 'a')));
}

TEST(RunKeys, APartNameIsAsItsPageShowsAndSortsNewestFirst) {
  const Time time(milliseconds(1795231560125));
  const std::string name = make_part_name(3, time, 0x1f2e3d4c);
  EXPECT_EQ(name, "000003-fe5e03dc4e42-1f2e3d4c");
  EXPECT_LT(make_part_name(3, time + milliseconds(1), 0), name);
  EXPECT_LT(name, make_part_name(4, time + milliseconds(1), 0));
  EXPECT_TRUE(name.starts_with(part_name_prefix(3)));
  const auto read = parse_part_name(name);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->rank, 3U);
  EXPECT_EQ(read->started_ms, 1795231560125U);
}

TEST(RunKeys, WhatIsNoPartNameIsTold) {
  for (const char* name :
       {"", "start", "000003", "000003-fe5e03dc4e42", "000003-fe5e03dc4e42-1f2e3d4", "x-y-z",
        "00000x-fe5e03dc4e42-1f2e3d4c", "000003-fe5e03dc4e4g-1f2e3d4c", "000003-fe5e03dc4e42x1f2e3d4c"})
    EXPECT_FALSE(parse_part_name(name)) << name;
}

}  // namespace
}  // namespace headrace
