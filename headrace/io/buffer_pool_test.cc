#include "headrace/io/buffer_pool.h"

#include <gtest/gtest.h>

#include <cstring>

namespace headrace {
namespace {

TEST(BufferPool, GivesTheSameMemoryAgain) {
  const auto pool = BufferPool::create();
  const std::byte* first = pool->take(100'000).data();
  EXPECT_EQ(pool->take(90'000).data(), first);
  EXPECT_EQ(pool->used_bytes(), 0U);
}

TEST(BufferPool, BuffersInUseDoNotOverlap) {
  const auto pool = BufferPool::create();
  const PooledBuffer one = pool->take(5000), two = pool->take(5000);
  std::memset(one.data(), 1, one.size());
  std::memset(two.data(), 2, two.size());
  EXPECT_EQ(one.view()[4999], std::byte{1});
  EXPECT_GE(pool->used_bytes(), 10'000U);
}

TEST(BufferPool, ALargerBufferTakesThePlaceOfASmallerOne) {
  const auto pool = BufferPool::create();
  for (std::size_t size = 1000; size < 1'000'000; size *= 2) {
    const PooledBuffer buffer = pool->take(size);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0U);
    EXPECT_LT(pool->used_bytes(), size + 8192);
  }
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

}  // namespace
}  // namespace headrace
