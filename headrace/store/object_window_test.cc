#include "headrace/store/object_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/noting_store_test.h"

namespace headrace {
namespace {

// Returns 12 MiB in which each byte depends on its offset.
Bytes make_content() {
  Bytes content(12 << 20);
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<std::byte>(i * 2654435761U >> 24);
  return content;
}

class CountingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    ++requests;
    bytes += target.size();
    return ForwardingStore::read_into(key, target, options);
  }
  int requests = 0;
  std::uint64_t bytes = 0;
};

TEST(ObjectWindow, GivesTheBytesWhereverTheyLie) {
  const auto store = make_memory_store("test");
  const Bytes content = make_content();
  const auto object = store->write("a", content, {});
  ASSERT_TRUE(object);
  ObjectWindow window(*store, *object, {});
  for (const std::uint64_t offset : {0U, 512U, 4U << 20, 11U << 20, 3U, (12U << 20) - 512U, 6U << 20}) {
    const auto part = window.read(offset, 512);
    ASSERT_TRUE(part) << offset;
    EXPECT_TRUE(std::ranges::equal(*part, BytesView(content).subspan(offset, 512))) << offset;
  }
  EXPECT_EQ(window.read(0, content.size())->size(), content.size());
}

TEST(ObjectWindow, SmallPartsShareARequestAndWhatLiesFarBetweenIsNotRead) {
  CountingStore store(make_memory_store("test"));
  const auto object = store.write("a", make_content(), {});
  ASSERT_TRUE(object);
  ObjectWindow window(store, *object, {});
  for (std::uint64_t offset = 0; offset < 4 << 20; offset += 4096) ASSERT_TRUE(window.read(offset, 512));
  EXPECT_EQ(store.requests, 1);
  store.bytes = 0;
  ASSERT_TRUE(window.read(8 << 20, 512));
  EXPECT_LT(store.bytes, 1U << 20);
}

TEST(ObjectWindow, AnotherVersionIsNotRead) {
  const auto store = make_memory_store("test");
  const auto object = store->write("a", make_content(), {});
  ASSERT_TRUE(object);
  ObjectWindow window(*store, *object, {});
  ASSERT_TRUE(write_text(*store, "a", "another"));
  const auto part = window.read(0, 512);
  ASSERT_FALSE(part);
  EXPECT_EQ(part.error().code, Code::kFailedPrecondition);
}

// Notes the requests for an object of 12 MiB, part after part.
class ObjectWindowTest : public testing::Test {
 protected:
  void SetUp() override {
    object_ = *store_->write("a", make_content(), {.call = noted_call()});
    store_->forget();
  }
  std::vector<std::string> calls_of(ObjectWindow& window, std::uint64_t offset, std::size_t size) {
    store_->forget();
    const auto part = window.read(offset, size);
    EXPECT_TRUE(part);
    EXPECT_EQ(part->size(), size);
    if (size > 0) {
      EXPECT_EQ(part->front(), static_cast<std::byte>(offset * 2654435761U >> 24)) << offset;
    }
    return store_->calls();
  }

  static constexpr std::uint64_t kMiB = 1 << 20;
  const std::shared_ptr<NotingStore> store_ = std::make_shared<NotingStore>(make_memory_store("test"));
  ObjectInfo object_;
};

TEST_F(ObjectWindowTest, WhatFollowsWithinAMebibyteIsReadInLargePieces) {
  using testing::ElementsAre;
  using testing::IsEmpty;
  ObjectWindow window(*store_, object_, noted_call());
  EXPECT_EQ(window.object().version, object_.version);
  EXPECT_THAT(calls_of(window, 0, 512), ElementsAre("read a 0+4194304"));
  EXPECT_THAT(calls_of(window, 4 * kMiB - 512, 512), IsEmpty()) << "to the last byte that was read";
  EXPECT_THAT(calls_of(window, 0, 4 * kMiB), IsEmpty());
  EXPECT_THAT(calls_of(window, 4 * kMiB - 511, 512), ElementsAre("read a 4193793+4194304"));
  const std::uint64_t end = 8 * kMiB - 511;
  EXPECT_THAT(calls_of(window, end + kMiB, 512), ElementsAre("read a 9436673+3146239")) << "up to the end";
  EXPECT_THAT(calls_of(window, 9, 512), ElementsAre("read a 9+65536")) << "behind what was read";
  EXPECT_THAT(calls_of(window, 8, 512), ElementsAre("read a 8+65536"));
  EXPECT_THAT(calls_of(window, 8, 65'536), IsEmpty());
  EXPECT_THAT(calls_of(window, 8 + 65'536 + kMiB + 1, 512), ElementsAre("read a 1114121+65536"));
  EXPECT_THAT(calls_of(window, 0, 5 * kMiB), ElementsAre("read a 0+5242880")) << "as much as is wanted";
  EXPECT_THAT(calls_of(window, 12 * kMiB - 1, 1), ElementsAre("read a 12582911+1"));
}

TEST_F(ObjectWindowTest, AfterAFailureNothingIsLeftInIt) {
  ObjectWindow window(*store_, object_, noted_call());
  ASSERT_TRUE(window.read(0, 512));
  const std::string key = "a";
  ASSERT_TRUE(store_->remove_many({&key, 1}, noted_call()));
  EXPECT_EQ(window.read(11 * kMiB, 512).error().code, Code::kNotFound);
  EXPECT_EQ(window.read(11 * kMiB, 512).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace headrace
