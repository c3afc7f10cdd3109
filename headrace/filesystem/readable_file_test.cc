#include "headrace/filesystem/readable_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "headrace/base/hash.h"
#include "headrace/os/thread_refusal_test.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

constexpr HashKey kKey{1, 2};

// A store that counts the reads of it, and fails if the test asks for it.
class WatchedStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    ++reads;
    if (failing) return Error{Code::kUnavailable, "out of reach"};
    auto read = ForwardingStore::read_into(key, target, options);
    if (read) read_bytes += read->bytes_read;
    return read;
  }
  std::atomic<std::uint64_t> reads = 0, read_bytes = 0;
  std::atomic<bool> failing = false;
};

Bytes random_bytes(std::size_t size) {
  Bytes data(size);
  for (std::size_t i = 0; i + 8 <= size; i += 8) store_little_endian(data.data() + i, siphash(kKey, i));
  return data;
}

class ReadableFileTest : public testing::Test {
 protected:
  std::unique_ptr<ReadableFile> open(std::size_t size) {
    data = random_bytes(size);
    EXPECT_TRUE(store->write("a", data, {}));
    auto file = ReadableFile::open(at, resources);
    EXPECT_TRUE(file) << file.error().message;
    return *std::move(file);
  }
  // Returns whether the file has the written bytes at that place.
  testing::AssertionResult reads_right(ReadableFile& file, std::uint64_t offset, std::size_t size) {
    Bytes target(size);
    const auto read = file.read(offset, target);
    if (!read) return testing::AssertionFailure() << read.error().message;
    const std::size_t there = offset >= data.size() ? 0 : std::min<std::size_t>(size, data.size() - offset);
    if (*read != there) return testing::AssertionFailure() << *read << " bytes instead of " << there;
    const auto begin = data.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(offset, data.size()));
    const bool same = std::equal(target.begin(), target.begin() + static_cast<std::ptrdiff_t>(there), begin);
    return same ? testing::AssertionSuccess() : testing::AssertionFailure() << "other bytes at " << offset;
  }

  // Reads on to the end of the file; returns the number of reads.
  int read_by_pieces(ReadableFile& file, std::size_t at_once) {
    Bytes target(at_once);
    std::uint64_t offset = 0;
    for (int pieces = 0;; ++pieces) {
      const auto taken = file.read_some(offset, target);
      if (!taken) ADD_FAILURE() << taken.error().message;
      if (!taken || *taken == 0) {
        EXPECT_EQ(offset, data.size());
        return pieces;
      }
      const auto begin = data.begin() + static_cast<std::ptrdiff_t>(offset);
      EXPECT_TRUE(std::equal(target.begin(), target.begin() + static_cast<std::ptrdiff_t>(*taken), begin));
      offset += *taken;
    }
  }

  Bytes data;
  std::shared_ptr<WatchedStore> store = std::make_shared<WatchedStore>(make_memory_store("test"));
  Location at{store, "a", {"memory", "test", "a"}};
  ReadResources resources;
};

TEST_F(ReadableFileTest, SmallFilesCostOneRequest) {
  const auto file = open(1'000);
  EXPECT_TRUE(reads_right(*file, 0, 10));
  EXPECT_TRUE(reads_right(*file, 10, 10));
  EXPECT_TRUE(reads_right(*file, 990, 100));
  EXPECT_TRUE(reads_right(*file, 1'000, 1));
  EXPECT_TRUE(reads_right(*file, 5'000, 1));
  EXPECT_EQ(store->reads, 1U);
}

TEST_F(ReadableFileTest, AnEmptyFileHasNothing) {
  const auto file = open(0);
  EXPECT_EQ(file->size_bytes(), 0U);
  EXPECT_TRUE(reads_right(*file, 0, 10));
}

TEST_F(ReadableFileTest, AFileThatIsNotThereIsNotFound) {
  const auto file = ReadableFile::open(at, resources);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Code::kNotFound);
}

TEST_F(ReadableFileTest, WhatFollowsIsFetchedAheadOnceInLargePieces) {
  const auto file = open((50 << 20) + 17);
  for (std::uint64_t offset = 0; offset <= data.size(); offset += 256 << 10)
    ASSERT_TRUE(reads_right(*file, offset, 256 << 10));
  EXPECT_LE(store->read_bytes, data.size() + (512 << 10));
  EXPECT_LE(store->reads, 16U);
}

TEST_F(ReadableFileTest, OddSizesAndSkipsAreReadRight) {
  const auto file = open((9 << 20) + 5);
  std::uint64_t offset = 0;
  for (int i = 0; offset < data.size(); ++i) {
    const std::size_t size = siphash(kKey, static_cast<std::uint64_t>(i)) % (i % 5 == 0 ? 5'000'000 : 90'000);
    ASSERT_TRUE(reads_right(*file, offset, size)) << i;
    offset += size;
    if (i % 7 == 0) offset += 12'345;  // a new sequence
    if (i % 11 == 0) offset -= std::min<std::uint64_t>(offset, 100'000);
  }
}

TEST_F(ReadableFileTest, SmallReadsShareBlocksAlsoOfOtherOpenings) {
  const auto file = open(10 << 20);
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(reads_right(*file, 5'000'000 + static_cast<unsigned>(i) * 200, 100));
  EXPECT_LE(store->reads, 3U);
  auto again = ReadableFile::open(at, resources);
  ASSERT_TRUE(again);
  const std::uint64_t before = store->reads;
  EXPECT_TRUE(reads_right(**again, 5'000'100, 100));
  EXPECT_EQ(store->reads, before);
}

TEST_F(ReadableFileTest, ALargeReadFetchesWhatWasAskedForAndNoMore) {
  const auto file = open(64 << 20);
  const std::uint64_t before = store->read_bytes;
  EXPECT_TRUE(reads_right(*file, 7'000'001, 20'000'000));
  EXPECT_TRUE(reads_right(*file, 27'000'001, 20'000'000));
  EXPECT_EQ(store->read_bytes - before, 40'000'000U);
}

TEST_F(ReadableFileTest, APieceComesBeforeTheWhole) {
  const auto file = open((50 << 20) + 17);
  Bytes target(data.size());
  const auto first = file->read_some(0, target);
  ASSERT_TRUE(first);
  EXPECT_LE(*first, std::size_t{1} << 20);
  const int pieces = read_by_pieces(*file, data.size());
  EXPECT_GE(pieces, 7);
  EXPECT_LE(pieces, 14);
  EXPECT_LE(store->read_bytes,
            2 * data.size());  // the first piece was asked for again: a sequence of its own
}

TEST_F(ReadableFileTest, OfPiecesEachByteIsFetchedOnce) {
  const auto file = open((50 << 20) + 17);
  read_by_pieces(*file, 127 << 20);
  EXPECT_LE(store->read_bytes, data.size() + (128 << 10));
  EXPECT_LE(store->reads, 16U);
}

TEST_F(ReadableFileTest, PiecesNeedNeitherMemoryToReadAheadNorThreads) {
  ReadResources none(0);
  open(20 << 20);
  auto file = ReadableFile::open(at, none);
  ASSERT_TRUE(file);
  EXPECT_EQ(read_by_pieces(**file, 127 << 20), 3);
  const auto other = open(20 << 20);
  const ThreadRefusal refused;
  read_by_pieces(*other, 127 << 20);
}

TEST_F(ReadableFileTest, PiecesAndReadsMayBeMixed) {
  const auto file = open(20 << 20);
  Bytes target(10 << 20);
  std::uint64_t offset = 0;
  while (offset < data.size()) {
    const auto taken = file->read_some(offset, target);
    ASSERT_TRUE(taken);
    offset += *taken;
    ASSERT_TRUE(reads_right(*file, offset, 70'001));
    offset += 70'001;
  }
  const auto small = open(100);
  EXPECT_EQ(read_by_pieces(*small, 1'000), 1);
}

TEST_F(ReadableFileTest, WithoutMemoryToReadAheadItReadsWhatIsAskedFor) {
  ReadResources none(0);
  open(2 << 20);
  auto file = ReadableFile::open(at, none);
  ASSERT_TRUE(file);
  for (std::uint64_t offset = 0; offset <= data.size(); offset += 100'000)
    ASSERT_TRUE(reads_right(**file, offset, 100'000));
}

TEST_F(ReadableFileTest, WithoutThreadsItReadsByItself) {
  const auto file = open(20 << 20);
  const ThreadRefusal refused;
  for (std::uint64_t offset = 0; offset <= data.size(); offset += 1 << 20)
    ASSERT_TRUE(reads_right(*file, offset, 1 << 20));
}

TEST_F(ReadableFileTest, ThirtyTwoThreadsReadTheSameBytes) {
  const auto file = open(16 << 20);
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (std::uint64_t t = 0; t < 32; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 60; ++i) {
        const bool follows = t % 2 == 0;
        const std::uint64_t offset =
            follows ? t * 300'000 + i * 70'000 : siphash(kKey, t * 100 + i) % data.size();
        if (!reads_right(*file, offset, 70'000)) ++wrong;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ReadableFileTest, AReplacedObjectIsNeverMixed) {
  const auto file = open(8 << 20);
  EXPECT_TRUE(reads_right(*file, 0, 100'000));
  ASSERT_TRUE(store->write("a", Bytes(8 << 20), {}));
  Bytes target(200'000);
  const auto read = file->read(4'000'000, target);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kFailedPrecondition) << read.error().message;
}

TEST_F(ReadableFileTest, AFailedReadMayBeRepeated) {
  const auto file = open(32 << 20);
  for (std::uint64_t offset = 0; offset < (2 << 20); offset += 256 << 10)
    ASSERT_TRUE(reads_right(*file, offset, 256 << 10));
  store->failing = true;
  Bytes target(256 << 10);
  bool has_failed = false;
  std::uint64_t offset = 2 << 20;
  for (; offset < data.size() && !has_failed; offset += has_failed ? 0 : 256 << 10)
    has_failed = !file->read(offset, target);
  EXPECT_TRUE(has_failed);
  store->failing = false;
  for (; offset < data.size(); offset += 256 << 10) ASSERT_TRUE(reads_right(*file, offset, 256 << 10));
}

}  // namespace
}  // namespace headrace
