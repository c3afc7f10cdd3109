#include "headrace/store/numbered.h"

#include <gtest/gtest.h>

#include <vector>

#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

TEST(Numbered, TheHighestNumberIsTheLatest) {
  const auto store = make_memory_store("test");
  EXPECT_FALSE(read_latest(*store, "a/log-", 100)->has_value());
  for (const std::uint64_t number : {1, 2, 9, 10, 123456789}) {
    ASSERT_TRUE(create_numbered(*store, "a/log-", number, as_bytes("entry")));
  }
  ASSERT_TRUE(write_text(*store, "a/log-notes", "no number"));
  const auto latest = read_latest(*store, "a/log-", 100);
  ASSERT_TRUE(latest && *latest);
  EXPECT_EQ((*latest)->number, 123456789U);
  EXPECT_EQ((*latest)->object.key, "a/log-123456789");
}

TEST(Numbered, TheNumbersThatArePresentAscend) {
  const auto store = make_memory_store("test");
  for (const std::uint64_t number : {10, 2, 123456789})
    ASSERT_TRUE(create_numbered(*store, "a/log-", number, as_bytes("entry")));
  ASSERT_TRUE(write_text(*store, "a/log-notes", "no number"));
  const auto numbers = present_numbers(*store, "a/log-");
  ASSERT_TRUE(numbers);
  EXPECT_EQ(*numbers, (std::vector<std::uint64_t>{2, 10, 123456789}));
}

TEST(Numbered, ANumberIsTakenOnce) {
  const auto store = make_memory_store("test");
  ASSERT_TRUE(create_numbered(*store, "log-", 1, as_bytes("first")));
  const auto second = create_numbered(*store, "log-", 1, as_bytes("second"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kAlreadyExists);
}

}  // namespace
}  // namespace headrace
