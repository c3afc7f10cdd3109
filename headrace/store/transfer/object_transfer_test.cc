#include "headrace/store/transfer/object_transfer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/os/thread_refusal_test.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/noting_store_test.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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

// A store that keeps other bytes than it is given.
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

// A store that keeps checksums, as S3 does. Listings do not contain them, and reads return wrong bytes.
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

TEST(ObjectTransfer, BoundsEveryCallAndReadsOneVersion) {
  const auto read = std::make_shared<NotingStore>(make_memory_store("a"));
  const auto written = std::make_shared<NotingStore>(make_memory_store("b"));
  const Location from{read, "x", {"memory", "a", "x"}}, to{written, "y", {"memory", "b", "y"}};
  ObjectTransferOptions options{.write = {.call = noted_call()}, .piece_bytes = kPieceBytes};
  const auto copied = [&](std::size_t size) {
    const auto object = from.store->write(from.key, numbers(size, 7), options.write);
    read->forget();
    written->forget();
    const auto done = transfer_object(from, *object, to, options);
    EXPECT_TRUE(done) << done.error().message;
    return read->calls();
  };
  EXPECT_THAT(copied(0), ElementsAre("read x 0+0"));
  EXPECT_THAT(copied(5), ElementsAre("read x 0+5"));
  EXPECT_THAT(copied(kPieceBytes), ElementsAre("read x 0+8388608")) << "and asks for no checksum";
  EXPECT_THAT(written->calls(), ElementsAre("write y"));
  EXPECT_THAT(copied(kPieceBytes + 1), ElementsAre("stat x", "read x 0+8388608", "read x 8388608+1"));
  EXPECT_THAT(written->calls(), ElementsAre("start_upload y", "append y", "append y", "commit y"));
  options.verify = true;
  EXPECT_THAT(copied(5), ElementsAre("stat x", "read x 0+5"));
  EXPECT_THAT(written->calls(), ElementsAre("write y", "read y 0+5"));
}

TEST(ObjectTransfer, ReadsPiecesAndWritesAndReportsSlices) {
  auto [from, read] = noting(in_memory("a", "x"));
  auto [to, written] = noting(in_memory("b", "y"));
  const std::size_t size = 2 * kPieceBytes + 4'000'000;
  const auto object = from.store->write(from.key, numbers(size, 7), {.call = noted_call()});
  std::vector<std::int64_t> advances;
  ObjectTransferOptions options{.write = {.call = noted_call()},
                                .advance = [&](std::int64_t bytes) { advances.push_back(bytes); }};
  read->forget();
  ASSERT_TRUE(transfer_object(from, *object, to, options));
  EXPECT_THAT(read->calls(), ElementsAre("stat x", "read x 0+20777216"));
  EXPECT_THAT(written->calls(),
              ElementsAre("start_upload y", "append y", "append y", "append y", "commit y"));
  EXPECT_THAT(advances, ElementsAre(kPieceBytes, kPieceBytes, 4'000'000));
  EXPECT_EQ(to.store->stat(to.key, noted_call())->size_bytes, size);
}

TEST(ObjectTransfer, WritesWithTheOptionsThatItIsGiven) {
  for (const std::size_t size : {std::size_t{5}, kPieceBytes + 1}) {
    const Location from = in_memory("a", "x"), to = in_memory("b", "y");
    ASSERT_TRUE(write_text(*to.store, to.key, "before"));
    const auto object = from.store->write(from.key, numbers(size, 7), {});
    std::int64_t advanced = 0;
    const auto done = transfer_object(
        from, *object, to,
        {.write = {.only_if_absent = true}, .advance = [&](std::int64_t bytes) { advanced += bytes; }});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::kAlreadyExists);
    EXPECT_EQ(advanced, 0) << "what is not there was not copied";
    EXPECT_EQ(content_of(to), to_bytes("before"));
  }
}

TEST(ObjectTransfer, AStopEndsALargeCopyBetweenSlices) {
  const Location from = in_memory("a", "x"), to = in_memory("b", "y");
  const auto object = from.store->write(from.key, numbers(3 * kPieceBytes, 7), {});
  std::stop_source stop;
  std::vector<std::int64_t> advances;
  const auto done = transfer_object(
      from, *object, to, {.write = {.call = {.stop = stop.get_token()}}, .advance = [&](std::int64_t bytes) {
                            advances.push_back(bytes);
                            stop.request_stop();
                          }});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kCancelled);
  EXPECT_EQ(done.error().message, "copying memory://a/x was stopped");
  EXPECT_THAT(advances, ElementsAre(kPieceBytes, -static_cast<std::int64_t>(kPieceBytes)));
  EXPECT_FALSE(to.store->stat(to.key, {}));
}

// Fails each write, in the same way, and counts them.
class RefusingStore final : public ForwardingStore {
 public:
  RefusingStore(std::shared_ptr<Store> store, Code code) : ForwardingStore(std::move(store)), code_(code) {}
  Result<ObjectInfo> write(std::string_view, BytesView, const WriteOptions&) override {
    ++writes;
    return Error{code_, "refused"};
  }
  int writes = 0;

 private:
  const Code code_;
};

TEST(ObjectTransfer, StartsAgainOnlyWhereThatHelps) {
  const Location from = in_memory("a", "x");
  const auto object = write_text(*from.store, from.key, "hello");
  for (const auto& [code, resumes, writes] : {std::tuple(Code::kAborted, true, 4),
                                              {Code::kAborted, false, 1},
                                              {Code::kFailedPrecondition, true, 1},
                                              {Code::kUnavailable, true, 1}}) {
    Location to = in_memory("b", "y");
    const auto refusing = std::make_shared<RefusingStore>(to.store, code);
    to.store = refusing;
    const auto done = transfer_object(from, *object, to, {.write = {.resumes = resumes}});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, code);
    EXPECT_EQ(done.error().message, "refused");
    EXPECT_EQ(refusing->writes, writes) << static_cast<int>(code) << resumes;
  }
}

TEST(ObjectTransfer, OfAnObjectThatWasRemovedIsNotFound) {
  const Location from = in_memory("a", "x"), to = in_memory("b", "y");
  const auto object = write_text(*from.store, from.key, "hello");
  ASSERT_TRUE(remove_object(*from.store, from.key));
  EXPECT_EQ(transfer_object(from, *object, to, {}).error().code, Code::kNotFound);
  EXPECT_FALSE(to.store->stat(to.key, {}));
}

TEST(ObjectTransfer, GoesOnAfterThreeChanges) {
  for (const auto& [changes, succeeds] : {std::pair(3, true), {4, false}}) {
    Location from = in_memory("a", "x");
    const Location to = in_memory("b", "y");
    const auto object = from.store->write(from.key, numbers(5, 99), {});
    const std::shared_ptr<Store> kept = from.store;
    // Each change comes after a read of the version before, so the next look meets another.
    class Replacing final : public ForwardingStore {
     public:
      Replacing(std::shared_ptr<Store> store, int changes)
          : ForwardingStore(std::move(store)), changes_(changes) {}
      Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                                   const ReadOptions& options) override {
        if (changes_-- > 0) {
          EXPECT_TRUE(inner().write(key, numbers(5, static_cast<unsigned>(changes_)), {}));
        }
        return inner().read_into(key, target, options);
      }

     private:
      int changes_;
    };
    from.store = std::make_shared<Replacing>(kept, changes);
    const auto done = transfer_object(from, *object, to, {});
    EXPECT_EQ(done.has_value(), succeeds) << changes;
    if (succeeds) {
      EXPECT_EQ(content_of(to), content_of({kept, "x", {}}));
    }
  }
}

// Copies by itself, and can be read; the copy may be another text.
class CopyingOtherStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Capabilities capabilities() const override { return {.latest_only = true, .server_side_copy = true}; }
  Result<ObjectInfo> copy(std::string_view from, std::string_view to, const WriteOptions& options) override {
    return copies.empty() ? inner().copy(from, to, options) : write_text(inner(), to, copies, options);
  }
  std::string copies;
};

TEST(ObjectTransfer, ACopyThatTheStoreMadeIsVerifiedToo) {
  const auto copying = std::make_shared<CopyingOtherStore>(make_memory_store("a"));
  auto [from, calls] = noting({copying, "x", {"memory", "a", "x"}});
  const Location to{from.store, "y", {"memory", "a", "y"}};
  const ObjectInfo object = *write_text(*copying, "x", "hello");
  std::int64_t advanced = 0;
  const ObjectTransferOptions options{.write = {.call = noted_call()},
                                      .verify = true,
                                      .advance = [&](std::int64_t bytes) { advanced += bytes; }};
  const auto done = transfer_object(from, object, to, options);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(advanced, 5);
  EXPECT_EQ(done->target.version, copying->stat("y", {})->version);
  EXPECT_EQ(as_text(read_object(*copying, "y", 5)->data), "hello");
  EXPECT_THAT(calls->calls(), ElementsAre("stat x", "copy x", "stat x", "read x 0+5", "read y 0+5"));
  copying->copies = "other";
  const auto differs = transfer_object(from, object, to, options);
  ASSERT_FALSE(differs);
  EXPECT_EQ(differs.error().code, Code::kDataLoss);
  Location asked_otherwise = to;
  asked_otherwise.url.query = "other=1";
  EXPECT_TRUE(copies_inside(from, to));
  EXPECT_FALSE(copies_inside(from, asked_otherwise));
  const Location elsewhere{from.store, "y", {"memory", "b", "y"}};
  calls->forget();
  ASSERT_TRUE(transfer_object(from, object, elsewhere, options));
  EXPECT_THAT(calls->calls(), ElementsAre("stat x", "read x 0+5", "write y", "read y 0+5"))
      << "of two stores";
}

TEST(ObjectTransfer, PlacesOfOneSchemeAndAuthorityLieInTheSameStore) {
  const Location place = in_memory("a", "x");
  Location other = in_memory("a", "y");
  EXPECT_TRUE(is_same_store(place, other));
  other.url.scheme = "s3";
  EXPECT_FALSE(is_same_store(place, other));
  EXPECT_FALSE(is_same_store(place, in_memory("b", "x")));
}

TEST(ObjectTransfer, AComparisonReadsBothVersionsPieceByPiece) {
  const auto [a, of_a_calls] = noting(in_memory("a", "x"));
  const auto [b, of_b_calls] = noting(in_memory("b", "y"));
  Bytes data = numbers(kPieceBytes + 3, 7);
  std::int64_t advanced = 0;
  ObjectTransferOptions options{.write = {.call = noted_call()},
                                .advance = [&](std::int64_t bytes) { advanced += bytes; }};
  const ObjectInfo of_a = *a.store->write(a.key, data, options.write);
  ObjectInfo of_b = *b.store->write(b.key, data, options.write);
  of_a_calls->forget();
  of_b_calls->forget();
  EXPECT_TRUE(*have_same_content(a, of_a, b, of_b, options));
  EXPECT_EQ(advanced, static_cast<std::int64_t>(data.size()));
  EXPECT_THAT(of_a_calls->calls(), ElementsAre("read x 0+8388608", "read x 8388608+3"));
  EXPECT_THAT(of_b_calls->calls(), ElementsAre("read y 0+8388608", "read y 8388608+3"));

  advanced = 0;
  data.back() ^= std::byte{1};
  of_b = *b.store->write(b.key, data, options.write);
  EXPECT_FALSE(*have_same_content(a, of_a, b, of_b, options));
  EXPECT_EQ(advanced, 0) << "what differs is not yet done";

  ASSERT_TRUE(b.store->write(b.key, data, options.write));
  EXPECT_EQ(have_same_content(a, of_a, b, of_b, options).error().code, Code::kFailedPrecondition);
  EXPECT_EQ(advanced, 0);

  of_a_calls->forget();
  of_b.size_bytes -= 1;
  EXPECT_FALSE(*have_same_content(a, of_a, b, of_b, options));
  EXPECT_THAT(of_a_calls->calls(), IsEmpty()) << "the sizes differ";
}

TEST(ObjectTransfer, EmptyObjectsAreTheSame) {
  const Location a = in_memory("a", "x"), b = in_memory("b", "y");
  const auto of_a = write_text(*a.store, a.key, ""), of_b = write_text(*b.store, b.key, "");
  EXPECT_TRUE(*have_same_content(a, *of_a, b, *of_b, {}));
}

TEST(ObjectTransfer, AStopEndsAComparison) {
  const Location a = in_memory("a", "x"), b = in_memory("b", "y");
  const Bytes data = numbers(2 * kPieceBytes, 7);
  const auto of_a = a.store->write(a.key, data, {}), of_b = b.store->write(b.key, data, {});
  std::stop_source stop;
  std::int64_t advanced = 0;
  const auto same = have_same_content(
      a, *of_a, b, *of_b, {.write = {.call = {.stop = stop.get_token()}}, .advance = [&](std::int64_t bytes) {
                             advanced += bytes;
                             stop.request_stop();
                           }});
  ASSERT_FALSE(same);
  EXPECT_EQ(same.error().code, Code::kCancelled);
  EXPECT_EQ(same.error().message, "comparing memory://a/x was stopped");
  EXPECT_EQ(advanced, 0);
}

TEST(ObjectTransfer, AChecksumThatIsKnownIsNotAskedFor) {
  auto [from, calls] = noting(in_memory("a", "x"));
  const Location to = in_memory("b", "y");
  const Bytes data = numbers(kPieceBytes + 1, 7);
  ObjectInfo object = *from.store->write(from.key, data, {.call = noted_call()});
  object.crc32c = crc32c(data);
  calls->forget();
  const auto done = transfer_object(from, object, to, {.write = {.call = noted_call()}});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(calls->calls(), ElementsAre("read x 0+8388609"));
  EXPECT_EQ(done->crc32c, object.crc32c);
  *object.crc32c ^= 1;
  EXPECT_EQ(transfer_object(from, object, to, {.write = {.call = noted_call()}}).error().code,
            Code::kDataLoss);
}

}  // namespace
}  // namespace headrace
