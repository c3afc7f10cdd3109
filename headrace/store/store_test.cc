#include "headrace/store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using testing::HasSubstr;

// Gives fewer bytes than it was asked for, or says that others were written.
class DamagedStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    return inner().read_into(key, target.first(target.size() - missing_bytes), options);
  }
  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    Result<ObjectInfo> found = inner().stat(key, options);
    if (found) found->crc32c = crc;
    return found;
  }
  std::size_t missing_bytes = 0;
  std::optional<std::uint32_t> crc{};
};

TEST(ReadObject, IsWholeWithinItsLimitAndAsItWasWritten) {
  DamagedStore store(make_memory_store("a"));
  const auto written = write_text(store, "key", "hello");
  store.crc = crc32c(as_bytes("hello"));
  const auto read = read_object(store, "key", 5);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(as_text(read->data), "hello");
  EXPECT_EQ(read->object.version, written->version);

  const auto longer = read_object(store, "key", 4);
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, Code::kResourceExhausted);
  EXPECT_THAT(longer.error().message, HasSubstr("memory://a/key has 5 B, more than the 4 B allowed"));

  store.missing_bytes = 2;
  const auto shorter = read_object(store, "key", 5);
  ASSERT_FALSE(shorter);
  EXPECT_EQ(shorter.error().code, Code::kDataLoss);
  EXPECT_EQ(shorter.error().message, "memory://a/key ended after 3 of 5 bytes");
  store.missing_bytes = 0;

  store.crc = 0x12345678;
  const auto damaged = read_object(store, "key", 5);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, Code::kDataLoss);
  EXPECT_THAT(damaged.error().message, HasSubstr("the store has 12345678"));
}

TEST(ReadExactly, OfAnObjectThatEndsBeforeIsAnError) {
  const auto store = make_memory_store("a");
  ASSERT_TRUE(write_text(*store, "key", "hello"));
  Bytes target(4);
  ASSERT_TRUE(read_exactly(*store, "key", target, {.offset_bytes = 1}));
  EXPECT_EQ(as_text(target), "ello");
  const Status read = read_exactly(*store, "key", target, {.offset_bytes = 2});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kDataLoss);
  EXPECT_EQ(read.error().message, "memory://a/key ends at byte 5, but 4 bytes are needed from offset 2");
}

TEST(ReadInPieces, AreCheckedOnlyIfTheyAreAllOfTheObject) {
  DamagedStore store(make_memory_store("a"));
  ASSERT_TRUE(write_text(store, "key", "hello"));
  ObjectInfo object = *store.stat("key", {});
  object.crc32c = crc32c(as_bytes("other"));
  std::string got;
  const auto visit = [&](BytesView piece) {
    got += as_text(piece);
    return Status();
  };
  EXPECT_EQ(read_in_pieces(store, object, {}, visit).error().code, Code::kDataLoss);
  got.clear();
  EXPECT_TRUE(read_in_pieces(store, object, 1, 4, {}, visit));
  EXPECT_TRUE(read_in_pieces(store, object, 0, 4, {}, visit));
  EXPECT_EQ(got, "ellohell");
  object.crc32c = crc32c(as_bytes("hello"));
  EXPECT_TRUE(read_in_pieces(store, object, {}, visit));

  std::stop_source stop;
  stop.request_stop();
  got.clear();
  EXPECT_EQ(read_in_pieces(store, object, {.stop = stop.get_token()}, visit).error().code, Code::kCancelled);
  EXPECT_EQ(got, "");
}

}  // namespace
}  // namespace headrace
