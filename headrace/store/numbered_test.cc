#include "headrace/store/numbered.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/noting_store_test.h"

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
  for (const std::uint64_t number : {10, 2, 99'999'999, 123'456'789, 100'000'000})
    ASSERT_TRUE(create_numbered(*store, "a/log-", number, as_bytes("entry")));
  ASSERT_TRUE(write_text(*store, "a/log-notes", "no number"));
  const auto numbers = present_numbers(*store, "a/log-");
  ASSERT_TRUE(numbers);
  EXPECT_EQ(*numbers, (std::vector<std::uint64_t>{2, 10, 99'999'999, 100'000'000, 123'456'789}));
}

TEST(Numbered, TheLatestOfEachFolderIsFound) {
  const auto store = make_memory_store("test");
  for (const std::uint64_t number : {2, 99'999'999, 100'000'000})
    ASSERT_TRUE(create_numbered(*store, "runs/a/", number, as_bytes("entry")));
  ASSERT_TRUE(create_numbered(*store, "runs/b/", 7, as_bytes("a longer entry")));
  for (const char* const other : {"runs/c/notes", "runs/b/d/00000009", "runs/00000003"})
    ASSERT_TRUE(write_text(*store, other, "no number of a folder"));
  const auto latest = latest_numbers(*store, "runs/");
  ASSERT_TRUE(latest);
  ASSERT_EQ(latest->size(), 2U);
  EXPECT_EQ(latest->at("a").number, 100'000'000U);
  EXPECT_EQ(latest->at("b").number, 7U);
  EXPECT_EQ(latest->at("b").size_bytes, 14U);
}

TEST(Numbered, WhetherOneFollowsIsKnownForNumbersOfAnyLength) {
  for (const std::uint64_t last : {std::uint64_t{2}, std::uint64_t{12'345'678}, std::uint64_t{100'000'000}}) {
    const auto store = make_memory_store("test");
    for (const std::uint64_t number : {std::uint64_t{1}, last})
      ASSERT_TRUE(create_numbered(*store, "a/log-", number, as_bytes("entry")));
    ASSERT_TRUE(write_text(*store, "a/log-notes", "no number"));
    for (std::uint64_t number = 1; number < last; number = number * 3 + 1)
      EXPECT_TRUE(*has_number_after(*store, "a/log-", number)) << number << " " << last;
    EXPECT_TRUE(*has_number_after(*store, "a/log-", last - 1)) << last;
    EXPECT_FALSE(*has_number_after(*store, "a/log-", last));
    EXPECT_FALSE(*has_number_after(*store, "a/log-", last + 1));
  }
}

TEST(Numbered, OnlyNamesAsTheyAreWrittenCount) {
  const auto store = make_memory_store("test");
  for (const std::string_view stray :
       {"3", "000000004", "+0000005", "00000000", "0000000000", "9007199254740993", "18446744073709551615",
        "18446744073709551616", "00000006.part", "00000007/8", ""})
    ASSERT_TRUE(write_text(*store, concat("a/log-", stray), "stray"));
  EXPECT_EQ(*present_numbers(*store, "a/log-"), std::vector<std::uint64_t>{});
  ASSERT_TRUE(create_numbered(*store, "a/log-", 2, as_bytes("entry")));
  EXPECT_EQ(*latest_number(*store, "a/log-"), 2U);
  EXPECT_EQ(number_of_digits("00000002"), 2U);
  EXPECT_EQ(number_of_digits("100000000"), 100'000'000U);
}

TEST(Numbered, NothingFollowsTheLargestNumber) {
  const auto store = make_memory_store("test");
  ASSERT_TRUE(create_numbered(*store, "log-", kLargestNumber, as_bytes("last")));
  EXPECT_EQ(*latest_number(*store, "log-"), kLargestNumber);
  const auto next = create_numbered(*store, "log-", kLargestNumber + 1, as_bytes("next"));
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, Code::kResourceExhausted);
}

TEST(Numbered, ANumberIsTakenOnce) {
  const auto store = make_memory_store("test");
  ASSERT_TRUE(create_numbered(*store, "log-", 1, as_bytes("first")));
  const auto second = create_numbered(*store, "log-", 1, as_bytes("second"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kAlreadyExists);
}

TEST(Numbered, NumbersOfMoreThanEightDigitsComeAfterShorterOnes) {
  const auto store = make_memory_store("test");
  for (const std::uint64_t number : {12'345'678, 100'000'000, 99'999'999})
    ASSERT_TRUE(create_numbered(*store, "log-", number, as_bytes(concat(number))));
  EXPECT_EQ(*present_numbers(*store, "log-"),
            (std::vector<std::uint64_t>{12'345'678, 99'999'999, 100'000'000}));
  EXPECT_EQ(*latest_number(*store, "log-"), 100'000'000U);
  EXPECT_EQ(to_string((*read_latest(*store, "log-", 100))->data), "100000000");
}

TEST(Numbered, CallsAreBoundedAndReadsHaveALimit) {
  NotingStore store(make_memory_store("test"));
  ASSERT_TRUE(create_numbered(store, "log-", 1, as_bytes("hello"), noted_call()));
  const auto latest = read_latest(store, "log-", 5, noted_call());
  ASSERT_TRUE(latest && *latest);
  EXPECT_EQ((*latest)->number, 1U);
  EXPECT_EQ(to_string((*latest)->data), "hello");
  EXPECT_EQ(read_latest(store, "log-", 4, noted_call()).error().code, Code::kResourceExhausted);
  EXPECT_FALSE(*has_number_after(store, "log-", 1, noted_call()));
  EXPECT_TRUE(*has_number_after(store, "log-", 0, noted_call()));
  EXPECT_EQ(*latest_number(store, "other-", noted_call()), std::nullopt);
  EXPECT_EQ(numbered_key("a/log-", 7), "a/log-00000007");
  EXPECT_EQ(numbered_key("", 123'456'789), "123456789");
}

TEST(Numbered, WhatFollowsALargeNumberIsLookedForFromTheBeginning) {
  const auto store = make_memory_store("test");
  for (const std::uint64_t number : {9'999'999, 10'000'000, 100'000'000})
    ASSERT_TRUE(create_numbered(*store, "log-", number, as_bytes("x")));
  EXPECT_TRUE(*has_number_after(*store, "log-", 9'999'999));
  EXPECT_TRUE(*has_number_after(*store, "log-", 10'000'000)) << "whose key comes after that of 100,000,000";
  EXPECT_TRUE(*has_number_after(*store, "log-", 99'999'999));
  EXPECT_FALSE(*has_number_after(*store, "log-", 100'000'000));
}

TEST(Numbered, LooksOnlyAtWhatComesAfterANumberOfSevenDigits) {
  class AfterStore final : public ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Status list(std::string_view prefix, const ListOptions& options,
                const std::function<bool(const ObjectInfo&)>& visit) override {
      after = options.after;
      return inner().list(prefix, options, visit);
    }
    std::string after;
  } store(make_memory_store("test"));
  ASSERT_TRUE(has_number_after(store, "log-", 7));
  EXPECT_EQ(store.after, "log-00000007");
  ASSERT_TRUE(has_number_after(store, "log-", 9'999'999));
  EXPECT_EQ(store.after, "log-09999999");
  ASSERT_TRUE(has_number_after(store, "log-", 10'000'000));
  EXPECT_EQ(store.after, "");
}

}  // namespace
}  // namespace headrace
