#include "headrace/store/layers/cached_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/store/layers/cached.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/noting_store_test.h"

namespace headrace {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::SizeIs;

// A cache's folder, of which each look is a listing.
class CacheRoomTest : public testing::Test {
 protected:
  void SetUp() override { store_->expects_version = false; }
  bool begins(std::uint64_t bytes, std::uint64_t max_bytes) {
    return room_->begin_write(folder_, bytes, max_bytes, noted_call());
  }
  std::size_t looks() const {
    std::size_t count = 0;
    for (const std::string& call : store_->calls()) count += call.starts_with("list ") ? 1 : 0;
    return count;
  }
  void put(int number, std::size_t bytes) {
    const std::string digest =
        concat(zero_padded(static_cast<std::uint64_t>(number), 4), std::string(60, 'a'));
    ASSERT_TRUE(store_->write(cached_key(folder_, digest), Bytes(bytes), {.call = noted_call()}));
  }
  std::size_t kept() const { return list_all(*store_, "", {.call = noted_call()})->size(); }

  const std::shared_ptr<NotingStore> store_ = std::make_shared<NotingStore>(make_memory_store("near"));
  const Location folder_{store_, "c", {"memory", "near", "c"}};
  const std::shared_ptr<CacheRoom> room_ = std::make_shared<CacheRoom>();
};

TEST_F(CacheRoomTest, KeysFanOutByTheFirstTwoDigits) {
  EXPECT_EQ(cached_key(folder_, "0123456789"), "c/headrace-cache/01/23456789");
  EXPECT_EQ(CacheRoom::of(folder_), CacheRoom::of(folder_));
  EXPECT_NE(CacheRoom::of(folder_), CacheRoom::of(folder_.at("d")));
}

TEST_F(CacheRoomTest, AWriteMayFillTheFolderAndNotMore) {
  EXPECT_FALSE(begins(101, 100));
  EXPECT_TRUE(begins(100, 100));
  EXPECT_FALSE(begins(1, 100)) << "the other is still being written";
  room_->end_write(100);
  EXPECT_TRUE(begins(1, 100)) << "the other has ended, and has kept nothing";
}

TEST_F(CacheRoomTest, TheFolderIsLookedAtAfterEachTwentieth) {
  EXPECT_TRUE(begins(100, 2000));
  EXPECT_EQ(looks(), 1U) << "nothing was known";
  EXPECT_TRUE(begins(1, 2000));
  EXPECT_EQ(looks(), 2U);
  EXPECT_TRUE(begins(99, 2000));
  EXPECT_EQ(looks(), 2U) << "a twentieth, and not more";
  EXPECT_TRUE(begins(1, 2000));
  EXPECT_EQ(looks(), 3U);
  EXPECT_TRUE(begins(1, 2000));
  EXPECT_EQ(looks(), 3U);
}

TEST_F(CacheRoomTest, AFullFolderIsBroughtBelowNineTenths) {
  for (int i = 0; i < 10; ++i) put(i, 100);
  EXPECT_TRUE(begins(100, 1000));
  EXPECT_EQ(kept(), 8U);
  room_->end_write(100);
  put(10, 100);
  EXPECT_TRUE(begins(100, 1000)) << "to the last byte";
  EXPECT_EQ(kept(), 9U);
  EXPECT_FALSE(begins(901, 1000));
  EXPECT_EQ(kept(), 9U) << "more than nine tenths removes nothing";
}

TEST_F(CacheRoomTest, WhatIsBeingWrittenCounts) {
  for (int i = 0; i < 5; ++i) put(i, 100);
  EXPECT_TRUE(begins(300, 1000));
  EXPECT_EQ(kept(), 5U);
  EXPECT_TRUE(begins(200, 1000)) << "500, 300 and 200";
  EXPECT_EQ(kept(), 5U);
  EXPECT_TRUE(begins(100, 1000));
  EXPECT_EQ(kept(), 3U) << "so that 600 that are being written and 300 are nine tenths";
}

TEST_F(CacheRoomTest, AFolderThatCannotBeListedTakesNothingAndIsLookedAtAgain) {
  class Hidden final : public ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Status list(std::string_view prefix, const ListOptions& options,
                const std::function<bool(const ObjectInfo&)>& visit) override {
      return is_hidden ? Status(Error{Code::kUnavailable, "gone"}) : inner().list(prefix, options, visit);
    }
    bool is_hidden = true;
  };
  const auto hidden = std::make_shared<Hidden>(store_);
  const Location folder{hidden, "c", folder_.url};
  EXPECT_FALSE(room_->begin_write(folder, 10, 1000, noted_call()));
  hidden->is_hidden = false;
  EXPECT_TRUE(room_->begin_write(folder, 10, 1000, noted_call()));
}

// A cache whose calls, near and far, are noted.
class CachedCallsTest : public testing::Test {
 protected:
  void SetUp() override {
    near_->expects_version = false;
    version_ = write_text(*far_, "a", "hello", {.call = noted_call()})->version;
    far_->forget();
  }
  Result<ReadResult> read(std::size_t size, ReadOptions options = {}) {
    target_.resize(size);
    options.if_version = version_;
    options.call = noted_call();
    return cached_->read_into("a", target_, options);
  }

  const std::shared_ptr<NotingStore> near_ = std::make_shared<NotingStore>(make_memory_store("near"));
  const std::shared_ptr<NotingStore> far_ = std::make_shared<NotingStore>(make_memory_store("far"));
  const std::unique_ptr<Store> cached_ =
      make_cached(far_, Location{near_, "", {"memory", "near", ""}}, {.max_bytes = 80});
  Version version_;
  Bytes target_;
};

TEST_F(CachedCallsTest, AnObjectThatIsWantedWholeIsKeptIfItFits) {
  ASSERT_TRUE(read(4, {.is_whole = true}));
  ASSERT_TRUE(read(4, {.is_whole = true}));
  EXPECT_THAT(far_->calls(), ElementsAre("read a 0+4", "read a 0+4")) << "a store may then give nothing";
  EXPECT_THAT(*list_all(*near_, "", {.call = noted_call()}), SizeIs(0));
  ASSERT_TRUE(read(5, {.is_whole = true}));
  ASSERT_TRUE(read(5, {.is_whole = true}));
  EXPECT_THAT(far_->calls(), SizeIs(3));
  EXPECT_EQ(as_text(target_), "hello");
  ASSERT_TRUE(read(4));
  ASSERT_TRUE(read(4));
  EXPECT_THAT(far_->calls(), SizeIs(4)) << "a part that was asked for as such is kept";
}

TEST_F(CachedCallsTest, ARangeOfAQuarterOfTheCacheIsKeptAndALargerOneIsNot) {
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(read(20));
  EXPECT_THAT(far_->calls(), ElementsAre("read a 0+20"));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(read(21));
  EXPECT_THAT(far_->calls(), ElementsAre("read a 0+20", "read a 0+21", "read a 0+21"));
}

TEST_F(CachedCallsTest, WhatIsKeptIsTheSameAsWhatWasRead) {
  for (int i = 0; i < 2; ++i) {
    const auto got = read(8, {.offset_bytes = 2});
    ASSERT_TRUE(got);
    EXPECT_EQ(got->bytes_read, 3U);
    EXPECT_EQ(got->object.key, "a");
    EXPECT_EQ(got->object.size_bytes, 5U);
    EXPECT_EQ(got->object.version, version_);
    EXPECT_EQ(as_text(target_).substr(0, 3), "llo");
  }
  EXPECT_THAT(far_->calls(), SizeIs(1));
  const auto kept = list_all(*near_, "", {.call = noted_call()});
  ASSERT_THAT(*kept, SizeIs(1));
  EXPECT_EQ(kept->front().size_bytes, 12 + 3U);
}

TEST_F(CachedCallsTest, WhatIsDamagedIsRemovedAndWrittenAgain) {
  ASSERT_TRUE(read(5));
  const std::string key = list_all(*near_, "", {.call = noted_call()})->front().key;
  ASSERT_TRUE(write_text(*near_, key, "damaged", {.call = noted_call()}));
  near_->forget();
  ASSERT_TRUE(read(5));
  EXPECT_THAT(near_->calls(), Contains("remove " + key));
  EXPECT_EQ(near_->stat(key, noted_call())->size_bytes, 12 + 5U);
  near_->forget();
  ASSERT_TRUE(read(5));
  EXPECT_THAT(near_->calls(), ElementsAre("read " + key + " 0+12", "read " + key + " 12+5"));
}

TEST_F(CachedCallsTest, RangesOfManyAreKeptEach) {
  Bytes first(2), second(3);
  const std::vector<ReadRequest> ranges = {{"a", 0, first, version_}, {"a", 2, second, version_}};
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(cached_->read_many(ranges, noted_call()));
    EXPECT_EQ(concat(as_text(first), as_text(second)), "hello");
  }
  EXPECT_THAT(far_->calls(), ElementsAre("read a 0+2", "read a 2+3"));
}

TEST(CacheUrl, SaysHowToWriteIt) {
  EXPECT_EQ(parse_cache_url("/c?max=1")->options.max_bytes, 1U);
  EXPECT_EQ(parse_cache_url("/c?d?max=7")->folder, "/c?d");
  EXPECT_EQ(parse_cache_url("/c")->options.max_bytes, CacheOptions().max_bytes);
  EXPECT_EQ(parse_cache_url("/c?min=2").error().message,
            "the cache /c?min=2 ends in \"min=2\"; write it as FOLDER?max=200GiB");
}

}  // namespace
}  // namespace headrace
