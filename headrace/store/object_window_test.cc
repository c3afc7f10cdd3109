#include "headrace/store/object_window.h"

#include <gtest/gtest.h>

#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

// 12 MiB in which each byte tells where it lies.
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

}  // namespace
}  // namespace headrace
