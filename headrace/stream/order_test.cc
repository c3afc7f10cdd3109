#include "headrace/stream/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace headrace {
namespace {

std::vector<OrderBlock> random_blocks(std::mt19937_64& random, std::uint64_t most_blocks,
                                      std::uint64_t most_records) {
  std::vector<OrderBlock> blocks(1 + random() % most_blocks);
  for (OrderBlock& block : blocks) {
    block.record_count = 1 + random() % most_records;
    block.size_bytes = block.record_count * (1 + random() % 100);
  }
  return blocks;
}

TEST(Permutation, IsOneToOneForEverySize) {
  for (std::uint64_t n = 0; n < 300; ++n) {
    std::set<std::uint64_t> images;
    for (std::uint64_t i = 0; i < n; ++i) images.insert(permute({1, n}, n, i));
    EXPECT_EQ(images.size(), n);
    if (n > 0) {
      EXPECT_EQ(*images.rbegin(), n - 1);
    }
  }
}

TEST(Permutation, ReachesFarInLargeRanges) {
  const std::uint64_t n = std::uint64_t{1} << 40;
  for (std::uint64_t i = 0; i < 1000; ++i) EXPECT_LT(permute({3, 4}, n + 12345, n + i), n + 12345);
}

TEST(Order, HasEveryRecordOncePerEpochInEveryMode) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    const auto blocks = random_blocks(random, 12, 30);
    for (const ShuffleMode mode : {ShuffleMode::kNone, ShuffleMode::kWindow, ShuffleMode::kExact}) {
      const EpochOrder order(random(), round, blocks, mode, 1 + random() % 4000);
      std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
      for (std::uint64_t position = 0; position < order.record_count(); ++position) {
        const OrderedRecord record = order.at(position);
        ASSERT_LT(record.block, blocks.size());
        ASSERT_LT(record.record, blocks[record.block].record_count);
        ASSERT_TRUE(seen.insert({record.block, record.record}).second);
      }
    }
  }
}

TEST(Order, AWindowNeedsItsOwnBlocksOnly) {
  std::mt19937_64 random(2);
  const auto blocks = random_blocks(random, 200, 50);
  const EpochOrder order(44, 3, blocks, ShuffleMode::kWindow, 5'000);
  ASSERT_GT(order.windows().size(), 3U);
  for (const EpochOrder::Window& window : order.windows()) {
    const auto first = order.permuted_blocks().begin() + static_cast<std::ptrdiff_t>(window.first_block);
    const std::set<std::uint64_t> own(first, first + static_cast<std::ptrdiff_t>(window.block_count));
    for (std::uint64_t i = 0; i < window.record_count; ++i)
      EXPECT_TRUE(own.contains(order.at(window.first_position + i).block));
  }
}

TEST(Order, AWindowEndsWithTheBlockThatFillsIt) {
  std::mt19937_64 random(3);
  constexpr std::uint64_t kWindowBytes = 5'000;
  std::vector<OrderBlock> blocks = random_blocks(random, 200, 50);
  blocks.resize(150, {5, 500});
  const EpochOrder order(44, 3, blocks, ShuffleMode::kWindow, kWindowBytes);
  std::uint64_t covered = 0;
  for (const EpochOrder::Window& window : order.windows()) {
    EXPECT_EQ(window.first_block, covered);
    covered += window.block_count;
    std::uint64_t size = 0;
    for (std::uint64_t b = 0; b < window.block_count; ++b) {
      EXPECT_LT(size, kWindowBytes) << "the window was full before this block";
      size += blocks[order.permuted_blocks()[window.first_block + b]].size_bytes;
    }
    EXPECT_EQ(window.size_bytes, size);
    if (&window != &order.windows().back()) {
      EXPECT_GE(size, kWindowBytes);
    }
  }
  EXPECT_EQ(covered, blocks.size());
  // Blocks that fill windows exactly.
  const std::vector<OrderBlock> equal(12, {10, 1'000});
  const EpochOrder exact(44, 3, equal, ShuffleMode::kWindow, 4'000);
  ASSERT_EQ(exact.windows().size(), 3U);
  for (const EpochOrder::Window& window : exact.windows()) EXPECT_EQ(window.block_count, 4U);
}

TEST(Order, AWindowsRecordsAreThoseOfItsPositions) {
  std::mt19937_64 random(5);
  const auto blocks = random_blocks(random, 50, 40);
  for (const ShuffleMode mode : {ShuffleMode::kNone, ShuffleMode::kWindow}) {
    const EpochOrder order(9, 2, blocks, mode, 3'000);
    for (std::uint64_t w = 0; w < order.windows().size(); ++w) {
      const EpochOrder::Window& window = order.windows()[w];
      std::vector<OrderedRecord> records;  // in the window's numbering
      for (std::uint64_t b = 0; b < window.block_count; ++b) {
        const std::uint64_t block = order.permuted_blocks()[window.first_block + b];
        for (std::uint64_t i = 0; i < blocks[block].record_count; ++i) records.push_back({block, i});
      }
      const HashKey key = order.window_key(w);
      for (std::uint64_t i = 0; i < window.record_count; ++i)
        EXPECT_EQ(order.at(window.first_position + i),
                  records[order.record_in_window(key, records.size(), i)]);
    }
  }
}

TEST(Order, EpochsAndSeedsDiffer) {
  const std::vector<OrderBlock> blocks(20, {50, 5000});
  const auto first_records = [&](std::uint64_t seed, std::uint64_t epoch) {
    const EpochOrder order(seed, epoch, blocks, ShuffleMode::kWindow, 10'000);
    std::vector<std::uint64_t> out;
    for (std::uint64_t i = 0; i < 50; ++i) out.push_back(order.at(i).block * 1000 + order.at(i).record);
    return out;
  };
  EXPECT_EQ(first_records(1, 0), first_records(1, 0));
  EXPECT_NE(first_records(1, 0), first_records(1, 1));
  EXPECT_NE(first_records(1, 0), first_records(2, 0));
}

// The expected values are part of the format: docs/formats/order.md. A change here breaks every stored state.
TEST(Order, IsAsPublished) {
  const HashKey key = derive_order_key(44, "block", 7, 0);
  EXPECT_EQ(key.low, 14501533419883614185U);
  EXPECT_EQ(key.high, 14733560130696183215U);
  std::vector<std::uint64_t> images;
  for (std::uint64_t i = 0; i < 10; ++i) images.push_back(permute(key, 10, i));
  EXPECT_EQ(images, (std::vector<std::uint64_t>{6, 1, 3, 4, 8, 7, 2, 5, 0, 9}));
  EXPECT_EQ(permute(key, 1'000'000'007, 123'456'789), 890920872U);
  std::vector<std::uint64_t> small;
  for (std::uint64_t n = 1; n <= 5; ++n) {
    for (std::uint64_t i = 0; i < n; ++i) small.push_back(permute({1, 2}, n, i));
  }
  EXPECT_EQ(small, (std::vector<std::uint64_t>{0, 0, 1, 0, 2, 1, 0, 3, 1, 2, 4, 2, 1, 0, 3}));
  EXPECT_EQ(permute({1, 2}, std::uint64_t{1} << 32, 7), 3376488088U);
  const std::uint64_t large = std::uint64_t{1} << 55;
  EXPECT_EQ(permute({1, 2}, 2 * large + 1, large + 12'345), 24535075659799308U);
  const std::vector<OrderBlock> blocks = {{3, 300}, {5, 500}, {2, 200}, {4, 400}};
  const EpochOrder exact(44, 3, blocks, ShuffleMode::kExact);
  for (std::uint64_t i = 0; const std::uint64_t record : {12, 10, 7, 9, 5, 2, 1, 3, 4, 8, 13, 0, 6, 11}) {
    const std::uint64_t firsts[] = {0, 3, 8, 10};
    const OrderedRecord at = exact.at(i++);
    EXPECT_EQ(firsts[at.block] + at.record, record);
  }
  std::vector<std::uint64_t> records;
  const EpochOrder order(44, 1, blocks, ShuffleMode::kWindow, 600);
  for (std::uint64_t i = 0; i < order.record_count(); ++i)
    records.push_back(10 * order.at(i).block + order.at(i).record);
  EXPECT_EQ(records, (std::vector<std::uint64_t>{13, 12, 14, 11, 1, 2, 0, 10, 33, 30, 31, 20, 32, 21}));
}

TEST(Order, WindowsHoldTheirPositions) {
  const std::vector<OrderBlock> blocks(6, {10, 1'000});
  const EpochOrder order(44, 1, blocks, ShuffleMode::kWindow, 2'000);
  ASSERT_EQ(order.windows().size(), 3U);
  for (const auto& [position, window] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {0, 0}, {1, 0}, {19, 0}, {20, 1}, {39, 1}, {40, 2}, {59, 2}})
    EXPECT_EQ(order.window_at(position), window) << position;
  EXPECT_EQ(order.record_count(), 60U);
  const EpochOrder whole(44, 1, blocks, ShuffleMode::kWindow);
  EXPECT_EQ(whole.windows().size(), 1U) << "a window has 64 MiB";
}

TEST(Order, WithoutShufflingItIsThatOfTheBlocks) {
  const std::vector<OrderBlock> blocks = {{2, 20}, {1, 10}, {3, 30}};
  const EpochOrder order(44, 1, blocks, ShuffleMode::kNone, 30);
  EXPECT_EQ(order.permuted_blocks(), (std::vector<std::uint64_t>{0, 1, 2}));
  std::vector<std::uint64_t> records;
  for (std::uint64_t i = 0; i < 6; ++i) records.push_back(10 * order.at(i).block + order.at(i).record);
  EXPECT_EQ(records, (std::vector<std::uint64_t>{0, 1, 10, 20, 21, 22}));
}

TEST(Order, ModesHaveNames) {
  EXPECT_EQ(shuffle_mode_name(ShuffleMode::kNone), "none");
  EXPECT_EQ(shuffle_mode_name(ShuffleMode::kWindow), "window");
  EXPECT_EQ(shuffle_mode_name(ShuffleMode::kExact), "exact");
}

TEST(Order, AnEpochsLastBatchMayBeSmallerOrDropped) {
  EXPECT_EQ(batches_in_epoch(0, 4, false), 0U);
  EXPECT_EQ(batches_in_epoch(3, 4, false), 1U);
  EXPECT_EQ(batches_in_epoch(3, 4, true), 0U);
  EXPECT_EQ(batches_in_epoch(8, 4, false), 2U);
  EXPECT_EQ(batches_in_epoch(8, 4, true), 2U);
  EXPECT_EQ(batches_in_epoch(9, 4, false), 3U);
  EXPECT_EQ(batches_in_epoch(9, 4, true), 2U);
}

}  // namespace
}  // namespace headrace
