#include "headrace/store/transfer/object_transfer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/os/thread_refusal_test.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using testing::HasSubstr;

constexpr std::size_t kMegabyte = 1'000'000;

Location in_memory(const std::string& name, const std::string& key) {
  return {make_memory_store(name), key, {"memory", name, key}};
}

Bytes numbers(std::size_t size, unsigned seed) {
  Bytes data(size);
  for (std::size_t i = 0; i < size; ++i) data[i] = static_cast<std::byte>((i * 2654435761U + seed) >> 13);
  return data;
}

Bytes content_of(const Location& place) {
  const auto read = read_object(*place.store, place.key, 1 << 30);
  return read ? read->data : to_bytes(read.error().message);
}

// Writes the object again after the first few reads of it.
class ChangingStore final : public ForwardingStore {
 public:
  ChangingStore(std::shared_ptr<Store> store, int reads_before, int changes, std::size_t size)
      : ForwardingStore(std::move(store)), reads_before_(reads_before), changes_(changes), size_(size) {}

  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    Result<ReadResult> read = inner().read_into(key, target, options);
    if (reads_before_-- <= 0 && changes_-- > 0) {
      EXPECT_TRUE(inner().write(key, numbers(size_, static_cast<unsigned>(changes_)), {}));
    }
    return read;
  }

 private:
  int reads_before_;
  int changes_;
  const std::size_t size_;
};

TEST(ObjectTransfer, GivesTheSameBytesWhateverTheSize) {
  const Location from = in_memory("a", "x"), to = in_memory("b", "y");
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, kPieceBytes, kPieceBytes + 1, 3 * kPieceBytes}) {
    const Bytes data = numbers(size, 7);
    const auto object = from.store->write(from.key, data, {});
    std::int64_t advanced = 0;
    const auto done = transfer_object(
        from, *object, to, {.piece_bytes = kMegabyte, .verify = true, .advance = [&](std::int64_t bytes) {
                              advanced += bytes;
                            }});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->crc32c, crc32c(data));
    EXPECT_EQ(done->source->version, object->version);
    EXPECT_EQ(done->target.version, to.store->stat(to.key, {})->version);
    EXPECT_EQ(content_of(to), data);
    EXPECT_EQ(advanced, static_cast<std::int64_t>(size));
  }
}

TEST(ObjectTransfer, WithoutAThreadToSpareReadsItself) {
  const Location from = in_memory("a", "x"), to = in_memory("b", "y");
  const Bytes data = numbers(3 * kPieceBytes, 7);
  const auto object = from.store->write(from.key, data, {});
  const ThreadRefusal refusal;
  ASSERT_TRUE(transfer_object(from, *object, to, {.piece_bytes = kMegabyte}));
  EXPECT_EQ(content_of(to), data);
}

TEST(ObjectTransfer, OfAnObjectThatChangesIsOneVersionOfIt) {
  const std::size_t size = 2 * kPieceBytes;
  Location from = in_memory("a", "x");
  const Location to = in_memory("b", "y");
  const auto object = from.store->write(from.key, numbers(size, 99), {});
  from.store = std::make_shared<ChangingStore>(from.store, 3, 1, size);
  std::int64_t advanced = 0;
  const auto done =
      transfer_object(from, *object, to,
                      {.piece_bytes = kMegabyte, .advance = [&](std::int64_t bytes) { advanced += bytes; }});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(content_of(to), numbers(size, 0));
  EXPECT_NE(done->source->version, object->version);
  EXPECT_EQ(advanced, static_cast<std::int64_t>(size));
}

TEST(ObjectTransfer, OfAnObjectThatNeverRestsFailsAndLeavesTheTarget) {
  const std::size_t size = 2 * kPieceBytes;
  Location from = in_memory("a", "x");
  const Location to = in_memory("b", "y");
  ASSERT_TRUE(write_text(*to.store, to.key, "before"));
  const auto object = from.store->write(from.key, numbers(size, 99), {});
  from.store = std::make_shared<ChangingStore>(from.store, 0, 1'000, size);
  const auto done = transfer_object(from, *object, to, {.piece_bytes = kMegabyte});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(done.error().message, HasSubstr("memory://a/x keeps changing while it is copied"));
  EXPECT_EQ(content_of(to), to_bytes("before"));
}

// Keeps something else than it is given.
class ForgetfulStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    Bytes other(data.begin(), data.end());
    other.back() ^= std::byte{1};
    return inner().write(key, other, options);
  }
};

TEST(ObjectTransfer, VerifyNoticesACopyThatDiffers) {
  const Location from = in_memory("a", "x");
  Location to = in_memory("b", "y");
  to.store = std::make_shared<ForgetfulStore>(to.store);
  const auto object = write_text(*from.store, from.key, "hello");
  EXPECT_TRUE(transfer_object(from, *object, to, {}));
  const auto done = transfer_object(from, *object, to, {.verify = true});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kDataLoss);
  EXPECT_THAT(done.error().message, HasSubstr("memory://b/y: read again"));
}

// Keeps checksums, as S3 does, which lists do not tell; and gives the wrong bytes.
class FlippingStore final : public ForwardingStore {
 public:
  FlippingStore(std::shared_ptr<Store> store, std::uint32_t crc)
      : ForwardingStore(std::move(store)), crc_(crc) {}
  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    Result<ReadResult> read = inner().read_into(key, target, options);
    if (!target.empty()) target.back() ^= std::byte{4};
    return read;
  }
  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    Result<ObjectInfo> found = inner().stat(key, options);
    if (found) found->crc32c = crc_;
    return found;
  }

 private:
  const std::uint32_t crc_;
};

TEST(ObjectTransfer, WhatIsNotAsTheStoreKeepsItIsNotWritten) {
  for (const std::size_t size : {kMegabyte, 2 * kPieceBytes}) {
    for (const bool is_listed : {true, false}) {
      Location from = in_memory("a", "x");
      const Location to = in_memory(concat("b", size, is_listed), "y");
      const Bytes data = numbers(size, 7);
      Result<ObjectInfo> object = from.store->write(from.key, data, {});
      from.store = std::make_shared<FlippingStore>(from.store, crc32c(data));
      if (!is_listed) object = from.store->stat(from.key, {});
      const auto done = transfer_object(from, *object, to, {.verify = is_listed && size == kMegabyte});
      ASSERT_FALSE(done) << size << ' ' << is_listed;
      EXPECT_EQ(done.error().code, Code::kDataLoss);
      EXPECT_THAT(done.error().message, HasSubstr("memory://a/x: the bytes read have the CRC32C"));
      EXPECT_FALSE(to.store->stat(to.key, {}));
    }
  }
}

// Says that it copies by itself, and counts that it does.
class CopyingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Capabilities capabilities() const override {
    Capabilities all = inner().capabilities();
    all.server_side_copy = true;
    return all;
  }
  Result<ReadResult> read_into(std::string_view key, MutableBytesView, const ReadOptions&) override {
    return Error{Code::kInternal, concat("reading ", key)};
  }
  Result<ObjectInfo> copy(std::string_view from, std::string_view to, const WriteOptions& options) override {
    Result<ObjectInfo> made = inner().copy(from, to, options);
    if (changes_source) {
      EXPECT_TRUE(write_text(inner(), from, "later"));
    }
    return made;
  }
  bool changes_source = false;
};

TEST(ObjectTransfer, WithinAStoreThatCopiesByItselfReadsNothing) {
  Location from = in_memory("a", "x");
  const auto object = write_text(*from.store, from.key, "hello");
  const auto copying = std::make_shared<CopyingStore>(from.store);
  const Location to{copying, "y", {"memory", "a", "y"}};
  from.store = copying;
  const auto done = transfer_object(from, *object, to, {});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->source->version, object->version);
  EXPECT_EQ(done->crc32c, std::nullopt);
  copying->changes_source = true;
  EXPECT_FALSE(transfer_object(from, *object, to, {})->source) << "which version was copied is not known";
}

TEST(ObjectTransfer, ContentIsComparedToTheLastByte) {
  const Location a = in_memory("a", "x"), b = in_memory("b", "y");
  Bytes data = numbers(2 * kPieceBytes, 7);
  const auto of_a = a.store->write(a.key, data, {});
  auto of_b = b.store->write(b.key, data, {});
  EXPECT_TRUE(*have_same_content(a, *of_a, b, *of_b, {}));
  data.back() ^= std::byte{1};
  const auto later = b.store->write(b.key, data, {});
  EXPECT_FALSE(*have_same_content(a, *of_a, b, *later, {}));
  EXPECT_EQ(have_same_content(a, *of_a, b, *of_b, {}).error().code, Code::kFailedPrecondition);
}

}  // namespace
}  // namespace headrace
