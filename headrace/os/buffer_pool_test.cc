#include "headrace/os/buffer_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <new>
#include <random>
#include <thread>
#include <vector>

namespace headrace {
namespace {

TEST(BufferPool, GivesTheSameMemoryAgain) {
  const auto pool = BufferPool::create();
  const std::byte* first = pool->take(100'000).data();
  EXPECT_EQ(pool->take(90'000).data(), first);
  EXPECT_EQ(pool->take(101'000).data(), first) << "nearly the same size is the same";
}

TEST(BufferPool, ABufferThatWasMovedAwayIsEmpty) {
  const auto pool = BufferPool::create();
  PooledBuffer from = pool->take(1000);
  const std::byte* const memory = from.data();
  PooledBuffer to = std::move(from);
  EXPECT_EQ(to.data(), memory);
  EXPECT_EQ(to.size(), 1000U);
  EXPECT_EQ(from.data(), nullptr);
  EXPECT_EQ(from.size(), 0U);
  to = pool->take(2000);
  EXPECT_EQ(to.size(), 2000U);
  EXPECT_EQ(pool->take(1000).data(), memory) << "assigning gave it back";
}

TEST(BufferPool, ABufferOfNothingIsMemoryToo) {
  const auto pool = BufferPool::create();
  const PooledBuffer none = pool->take(0);
  EXPECT_EQ(none.size(), 0U);
  EXPECT_GE(pool->memory_bytes(), 64U);
}

TEST(BufferPool, MoreThanThereCanBeIsNotThere) {
  const auto pool = BufferPool::create();
  for (const std::size_t size : {~std::size_t{0}, ~std::size_t{0} - 63, (std::size_t{1} << 60) + 1})
    EXPECT_THROW(pool->take(size), std::bad_alloc);
  EXPECT_EQ(pool->memory_bytes(), 0U);
}

TEST(BufferPool, SizesAreRoundedUpToASixteenthOfTheirPowerOfTwo) {
  struct Case {
    std::size_t size, taken;
  };
  for (const auto& [size, taken] :
       {Case{0, 64}, Case{1, 64}, Case{64, 64}, Case{65, 128}, Case{1024, 1024}, Case{1025, 1088},
        Case{2048, 2048}, Case{2049, 2176}, Case{100'000, 102'400}, Case{1 << 20, 1 << 20}}) {
    const auto pool = BufferPool::create();
    const PooledBuffer buffer = pool->take(size);
    EXPECT_EQ(pool->memory_bytes(), taken) << size;
  }
}

TEST(BufferPool, AKeptBufferServesForWhatIsAtMostAQuarterSmaller) {
  const auto taken_after_81920 = [](std::size_t size) {
    const auto pool = BufferPool::create();
    pool->take(81'920);
    const PooledBuffer buffer = pool->take(size);
    return pool->memory_bytes();
  };
  EXPECT_EQ(taken_after_81920(65'536), 81'920U);
  EXPECT_EQ(taken_after_81920(65'535), 65'536U) << "another one took its place";
}

TEST(BufferPool, BuffersInUseDoNotOverlap) {
  const auto pool = BufferPool::create();
  const PooledBuffer one = pool->take(5000), two = pool->take(5000);
  std::memset(one.data(), 1, one.size());
  std::memset(two.data(), 2, two.size());
  EXPECT_EQ(one.view()[4999], std::byte{1});
  EXPECT_EQ(one.view()[0], std::byte{1});
  EXPECT_GE(pool->memory_bytes(), 10'000U);
}

TEST(BufferPool, ALargerBufferTakesThePlaceOfASmallerOne) {
  const auto pool = BufferPool::create();
  for (std::size_t size = 1000; size < 1'000'000; size *= 2) {
    const PooledBuffer buffer = pool->take(size);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0U);
    EXPECT_LE(pool->memory_bytes(), size + size / 4);
  }
}

TEST(BufferPool, ASmallBufferLeavesALargeOneAlone) {
  const auto pool = BufferPool::create();
  std::vector<PooledBuffer> large, small;
  for (int i = 0; i < 8; ++i) large.push_back(pool->take(8'000'000));
  large.clear();
  for (int i = 0; i < 8; ++i) small.push_back(pool->take(1'000'000));
  // Two large ones at most had to go for the small ones.
  EXPECT_LE(pool->memory_bytes(), 8 * 8'500'000U);
  const std::size_t before = pool->memory_bytes();
  for (int i = 0; i < 6; ++i) large.push_back(pool->take(8'000'000));
  EXPECT_EQ(pool->memory_bytes(), before) << "all of them were kept ones";
}

TEST(BufferPool, TakesAtMostAQuarterMoreThanIsAskedFor) {
  const auto pool = BufferPool::create();
  std::mt19937_64 random(1);
  std::size_t most = 0;  // that all rounds may have taken at once
  for (int round = 0; round < 200; ++round) {
    std::vector<PooledBuffer> held;
    std::size_t allowed = 0;
    for (int i = 0; i < 20; ++i) {
      const std::size_t size = random() % 300'000;
      held.push_back(pool->take(size));
      std::memset(held.back().data(), i, size);
      allowed += size + std::max<std::size_t>(size / 4, 64);
    }
    most = std::max(most, allowed);
    ASSERT_LE(pool->memory_bytes(), most) << round;
  }
}

TEST(BufferPool, KeepsNoMoreThanWasInUseAtOnce) {
  const auto pool = BufferPool::create();
  for (std::size_t size = 2'000'000; size > 1000; size = size * 3 / 4) {
    std::vector<PooledBuffer> held;
    for (std::size_t bytes = 0; bytes < 4'000'000; bytes += size) held.push_back(pool->take(size));
    EXPECT_LE(pool->memory_bytes(), 7'500'000U) << size;
  }
}

TEST(BufferPool, ManyBuffersComeAndGo) {
  const auto pool = BufferPool::create();
  for (int round = 0; round < 2; ++round) {
    std::vector<PooledBuffer> held;
    for (std::size_t i = 0; i < 30'000; ++i) held.push_back(pool->take(i % 1000));
    held.erase(held.begin(), held.begin() + 15'000);
  }
  EXPECT_LE(pool->memory_bytes(), 30'000U * 700);
}

TEST(BufferPool, ServesManyThreads) {
  const auto pool = BufferPool::create();
  std::vector<std::jthread> threads;
  std::atomic<int> mixed_up = 0;
  for (unsigned char t = 1; t <= 4; ++t) {
    threads.emplace_back([&, t] {
      PooledBuffer kept;
      for (std::size_t i = 0; i < 2'000; ++i) {
        PooledBuffer buffer = pool->take(1 + i * t % 50'000);
        std::memset(buffer.data(), t, buffer.size());
        if (kept.size() > 0 && kept.view().back() != std::byte{t}) ++mixed_up;
        kept = std::move(buffer);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(mixed_up, 0);
  EXPECT_LE(pool->memory_bytes(), 4U * 2 * 65'000);
}

TEST(BufferPool, WhatNoMachineHasIsRefused) {
  const auto pool = BufferPool::create();
  for (const std::size_t size : {~std::size_t{0}, ~std::size_t{0} / 2})
    EXPECT_THROW(pool->take(size), std::bad_alloc);
  EXPECT_EQ(pool->memory_bytes(), 0U);
}

TEST(BufferPool, ABufferOutlivesItsPool) {
  auto pool = BufferPool::create();
  PooledBuffer buffer = pool->take(10);
  pool.reset();
  std::memset(buffer.data(), 7, buffer.size());
  const PooledBuffer moved = std::move(buffer);
  EXPECT_EQ(moved.view()[9], std::byte{7});
  EXPECT_EQ(buffer.data(), nullptr);
}

TEST(BufferPool, NothingIsAMemoryToo) { EXPECT_NE(BufferPool::create()->take(0).data(), nullptr); }

TEST(BufferPool, TheBufferThatCameBackLastIsTakenFirst) {
  const auto pool = BufferPool::create();
  PooledBuffer first = pool->take(1 << 20), second = pool->take(1 << 20), third = pool->take(1 << 20);
  const std::byte* const memory = second.data();
  first = {};
  third = {};
  second = {};
  EXPECT_EQ(pool->take(1 << 20).data(), memory);
}

}  // namespace
}  // namespace headrace
