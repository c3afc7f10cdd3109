// The conveniences of store.h: which calls they make, and that they pass on their caller's options.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/noting_store_test.h"
#include "headrace/store/store.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class StoreCallsTest : public testing::Test {
 protected:
  void SetUp() override {
    object_ = *write_text(store_, "a", "hello", {.call = noted_call()});
    store_.forget();
  }
  NotingStore store_{make_memory_store("test")};
  ObjectInfo object_;
};

TEST_F(StoreCallsTest, AWholeObjectIsReadInOneVersion) {
  const auto read = read_object(store_, "a", 5, noted_call());
  ASSERT_TRUE(read);
  EXPECT_EQ(as_text(read->data), "hello");
  EXPECT_EQ(read->object.key, "a");
  EXPECT_EQ(read->object.size_bytes, 5U);
  EXPECT_THAT(store_.calls(), ElementsAre("stat a", "read a 0+5"));
  EXPECT_EQ(read_object(store_, "b", 5, noted_call()).error().code, Code::kNotFound);
}

TEST_F(StoreCallsTest, PiecesOfAnObjectAreReadFromTheOffsetOn) {
  const std::string text = std::string(kPieceBytes, 'a') + std::string(kPieceBytes, 'b') + "c";
  ObjectInfo object = *write_text(store_, "large", text, {.call = noted_call()});
  object.crc32c = crc32c(as_bytes(text));
  std::string got;
  const auto visit = [&](BytesView piece) {
    got += as_text(piece);
    return Status();
  };
  store_.forget();
  ASSERT_TRUE(read_in_pieces(store_, object, noted_call(), visit));
  EXPECT_TRUE(got == text);
  EXPECT_THAT(store_.calls(),
              ElementsAre("read large 0+8388608", "read large 8388608+8388608", "read large 16777216+1"));
  got.clear();
  store_.forget();
  ASSERT_TRUE(read_in_pieces(store_, object, 1, kPieceBytes + 1, noted_call(), visit));
  EXPECT_TRUE(got == text.substr(1, kPieceBytes + 1));
  EXPECT_THAT(store_.calls(), ElementsAre("read large 1+8388608", "read large 8388609+1"));
  store_.forget();
  ASSERT_TRUE(read_in_pieces(store_, object, 7, 0, noted_call(), visit));
  EXPECT_THAT(store_.calls(), IsEmpty());
  const auto over = read_in_pieces(store_, object, 2 * kPieceBytes, 2, noted_call(), visit);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, Code::kDataLoss);
}

TEST_F(StoreCallsTest, WhatVisitsAPieceMayEndTheReading) {
  const std::string text(kPieceBytes + 1, 'a');
  const ObjectInfo object = *write_text(store_, "large", text, {.call = noted_call()});
  store_.forget();
  const Status read = read_in_pieces(store_, object, noted_call(), [](BytesView) {
    return Error{Code::kAborted, "enough"};
  });
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "enough");
  EXPECT_THAT(store_.calls(), SizeIs(1));
  std::stop_source stop;
  CallOptions call = noted_call();
  call.stop = stop.get_token();
  const Status stopped = read_in_pieces(store_, object, call, [&](BytesView) {
    stop.request_stop();
    return Status();
  });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::kCancelled);
  EXPECT_EQ(stopped.error().message, "reading memory://test/large was stopped");
}

TEST_F(StoreCallsTest, AChecksumOfAllIsComparedOnceAllIsRead) {
  ObjectInfo object = object_;
  object.crc32c = 0x12345678;
  int visited = 0;
  const auto visit = [&](BytesView) { return ++visited, Status(); };
  const Status damaged = read_in_pieces(store_, object, noted_call(), visit);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().message,
            "memory://test/a: the bytes read have the CRC32C 9a71bb4c, but the store has 12345678; the "
            "object is damaged");
  EXPECT_EQ(visited, 1);
  EXPECT_TRUE(check_crc32c(store_, object, 0x12345678));
  EXPECT_TRUE(check_crc32c(store_, object_, 7)) << "of no checksum";
}

TEST_F(StoreCallsTest, ListsAndRemovalsPassTheirOptionsOn) {
  ASSERT_TRUE(write_text(store_, "b/c", "x", {.call = noted_call()}));
  store_.forget();
  EXPECT_THAT(*list_all(store_, "", {.after = "a", .call = noted_call()}), SizeIs(1));
  EXPECT_EQ(list_all(store_, "", {.collapse_folders = true, .call = noted_call()})->back().key, "b/");
  EXPECT_THAT(*list_all_unfinished(store_, "u", noted_call()), IsEmpty());
  ASSERT_TRUE(remove_object(store_, "b/c", noted_call()));
  EXPECT_THAT(store_.calls(), ElementsAre("list ", "list ", "list_unfinished u", "remove b/c"));
  EXPECT_EQ(store_.stat("b/c", noted_call()).error().code, Code::kNotFound);
}

TEST_F(StoreCallsTest, UnfinishedWritesAreListedAll) {
  class Unfinished final : public ForwardingStore {
   public:
    Unfinished() : ForwardingStore(make_memory_store("test")) {}
    Status list_unfinished(std::string_view, const CallOptions&,
                           const std::function<bool(const UnfinishedWrite&)>& visit) override {
      for (const char* key : {"a", "b"}) {
        if (!visit({.key = key})) break;
      }
      return {};
    }
  } store;
  EXPECT_THAT(*list_all_unfinished(store, ""), SizeIs(2));
}

TEST_F(StoreCallsTest, ReadsOfManyRangesAreOfTheVersionsAskedFor) {
  // The default, which is a loop over read_into.
  class Looping final : public ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Status read_many(std::span<const ReadRequest> requests, const CallOptions& options) override {
      return Store::read_many(requests, options);
    }
  };
  const auto noting = std::make_shared<NotingStore>(make_memory_store("test"));
  const ObjectInfo object = *write_text(*noting, "a", "hello", {.call = noted_call()});
  Looping store(noting);
  noting->forget();
  Bytes first(2), second(3);
  const std::vector<ReadRequest> requests = {{"a", 1, first, object.version},
                                             {"a", 2, second, object.version}};
  ASSERT_TRUE(store.read_many(requests, noted_call()));
  EXPECT_EQ(as_text(first), "el");
  EXPECT_EQ(as_text(second), "llo");
  EXPECT_THAT(noting->calls(), ElementsAre("read a 1+2", "read a 2+3"));
  ASSERT_TRUE(write_text(*noting, "a", "other", {.call = noted_call()}));
  EXPECT_EQ(store.read_many(requests, noted_call()).error().code, Code::kFailedPrecondition);
}

TEST(Location, NamesWhatLiesBelowByKeyAndUrl) {
  const Location place{make_memory_store("test"), "a", {"memory", "test", "a"}};
  const Location below = place.at("b/c");
  EXPECT_EQ(below.store, place.store);
  EXPECT_EQ(below.key, "a/b/c");
  EXPECT_EQ(below.url.text(), "memory://test/a/b/c");
  EXPECT_EQ(below.describe(), "memory://test/a/b/c");
  EXPECT_EQ(place.at("").key, "a");
  EXPECT_EQ((Location{place.store, "", {"memory", "test", ""}}).at("b").url.text(), "memory://test/b");
}

}  // namespace
}  // namespace headrace
