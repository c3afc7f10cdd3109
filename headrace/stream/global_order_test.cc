#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "headrace/base/sanitized_test.h"
#include "headrace/stream/batch_plan.h"
#include "headrace/stream/order.h"

namespace headrace::global_order_test {
namespace {

// A record, identified by its source, the epoch of that source, and its number in the dataset.
struct Row {
  std::size_t source = 0;
  std::uint64_t epoch = 0;
  std::uint64_t record = 0;
  bool operator==(const Row&) const = default;
};
using Rows = std::vector<Row>;

struct Case {
  std::vector<std::vector<OrderBlock>> sources;  // each with the blocks of all its shards
  std::vector<std::uint64_t> weights;
  ShuffleMode mode = ShuffleMode::kNone;
  std::uint64_t window_bytes = 0;
  std::uint64_t seed = 0;
  std::uint64_t batch_size = 0;
  bool drop_remainder = false;
};

std::uint64_t count_of(const std::vector<OrderBlock>& blocks) {
  std::uint64_t count = 0;
  for (const OrderBlock& block : blocks) count += block.record_count;
  return count;
}

// Few or many shards, with a single block (as small shards have) or with several.
std::vector<OrderBlock> random_blocks(std::mt19937_64& random) {
  std::vector<OrderBlock> blocks;
  const std::uint64_t most_blocks = 1 + random() % 3, most_records = 1 + random() % 20;
  for (std::uint64_t shards = 1 + random() % 6; shards > 0; --shards) {
    for (std::uint64_t of_shard = 1 + random() % most_blocks; of_shard > 0; --of_shard) {
      const std::uint64_t records = 1 + random() % most_records;
      blocks.push_back({records, records * (20 + random() % 100)});
    }
  }
  return blocks;
}

Case random_case(std::mt19937_64& random) {
  constexpr std::array kModes = {ShuffleMode::kNone, ShuffleMode::kWindow, ShuffleMode::kExact};
  Case out{.mode = kModes[random() % kModes.size()],
           .window_bytes = 1 + random() % (std::uint64_t{1} << (1 + random() % 16)),
           .seed = random(),
           .batch_size = 1 + random() % 40,
           .drop_remainder = random() % 2 == 0};
  for (std::uint64_t count = random() % 2 == 0 ? 1 : 2 + random() % 3; count > 0; --count) {
    out.sources.push_back(random_blocks(random));
    out.weights.push_back(1 + random() % (1 << 20));
  }
  return out;
}

std::string describe(const Case& with) {
  std::string text = "mode " + std::string(shuffle_mode_name(with.mode)) + ", window " +
                     std::to_string(with.window_bytes) + ", seed " + std::to_string(with.seed) + ", batch " +
                     std::to_string(with.batch_size) + (with.drop_remainder ? ", dropping" : "") + ", of";
  for (const auto& blocks : with.sources) text += ' ' + std::to_string(count_of(blocks));
  return text;
}

BatchPlan plan_of(const Case& with, std::uint64_t rank, std::uint64_t world_size) {
  std::vector<BatchPlan::Source> sources;
  for (std::size_t s = 0; s < with.sources.size(); ++s)
    sources.push_back({count_of(with.sources[s]), with.weights[s]});
  return {sources, with.batch_size, with.drop_remainder, {rank, world_size}};
}

// The orders of all sources and epochs of a case.
class Orders {
 public:
  explicit Orders(const Case& with) : case_(with) {}

  Row row_at(const SourcePosition& at) {
    const auto& blocks = case_.sources[at.source];
    const auto [order, is_new] =
        orders_.try_emplace({at.source, at.epoch}, derive_order_key(case_.seed, "source", at.source, 0).low,
                            at.epoch, blocks, case_.mode, case_.window_bytes);
    const OrderedRecord found = order->second.at(at.position);
    std::uint64_t record = found.record;
    EXPECT_LT(record, blocks[found.block].record_count);
    for (std::uint64_t b = 0; b < found.block; ++b) record += blocks[b].record_count;
    return {at.source, at.epoch, record};
  }

 private:
  const Case& case_;
  std::map<std::pair<std::size_t, std::uint64_t>, EpochOrder> orders_;
};

// The first batches of all ranks, each assembled from its parts. Checks that all ranks agree where they must.
std::vector<Rows> batches_of(const Case& with, std::uint64_t world_size, std::uint64_t batches) {
  Orders orders(with);
  std::vector<Rows> joined(batches);
  const std::uint64_t per_epoch = plan_of(with, 0, 1).batches_per_epoch();
  std::uint64_t rows_of_ranks = 0;
  for (std::uint64_t rank = 0; rank < world_size; ++rank) {
    const BatchPlan plan = plan_of(with, rank, world_size);
    EXPECT_EQ(plan.batches_per_epoch(), per_epoch);
    rows_of_ranks += plan.row_count();
    for (std::uint64_t sequence = 0; sequence < batches; ++sequence) {
      const auto positions = plan.rows(sequence);
      EXPECT_LE(positions.size(), plan.row_count());
      const bool may_be_short = !plan.is_mixture() && !with.drop_remainder && (sequence + 1) % per_epoch == 0;
      if (!may_be_short) {
        EXPECT_EQ(positions.size(), plan.row_count());
      }
      for (const SourcePosition& position : positions) joined[sequence].push_back(orders.row_at(position));
    }
  }
  EXPECT_EQ(rows_of_ranks, with.batch_size);
  return joined;
}

// How often each record of a source occurs in one of its epochs.
using Counts = std::vector<int>;

void expect_every_record_once(const Case& with, const std::vector<Rows>& batches) {
  std::map<std::pair<std::size_t, std::uint64_t>, Counts> counts;
  for (const Rows& batch : batches) {
    for (const Row& row : batch) {
      Counts& of_epoch = counts[{row.source, row.epoch}];
      of_epoch.resize(count_of(with.sources[row.source]));
      ASSERT_LT(row.record, of_epoch.size());
      ++of_epoch[row.record];
    }
  }
  const bool is_mixture = with.sources.size() > 1;
  for (const auto& [of, of_epoch] : counts) {
    const auto [source, epoch] = of;
    ASSERT_LE(std::ranges::max(of_epoch), 1) << "source " << source << ", epoch " << epoch;
    // In a mixture, the last epoch of a source may be unfinished.
    const bool has_next = counts.contains({source, epoch + 1});
    if (is_mixture && !has_next) continue;
    const std::uint64_t all = of_epoch.size();
    const std::uint64_t left_out = with.drop_remainder && !is_mixture ? all % with.batch_size : 0;
    ASSERT_EQ(static_cast<std::uint64_t>(std::ranges::count(of_epoch, 1)), all - left_out)
        << "source " << source << ", epoch " << epoch;
  }
}

// 10,000 of datasets and their shards, batches, windows, orders and mixtures, each at several world sizes.
TEST(GlobalOrder, HasEveryRecordOnceAnEpochWhateverTheWorldSize) {
  constexpr unsigned kRounds = cases(10'000);
  std::mt19937_64 random(44);
  for (unsigned round = 0; round < kRounds; ++round) {
    const Case with = random_case(random);
    SCOPED_TRACE(describe(with));
    const std::uint64_t batches = 2 * plan_of(with, 0, 1).batches_per_epoch();
    const std::vector<Rows> whole = batches_of(with, 1, batches);
    ASSERT_NO_FATAL_FAILURE(expect_every_record_once(with, whole));
    const std::uint64_t most_ranks = std::min<std::uint64_t>(with.batch_size, 9);
    for (const std::uint64_t world_size : {1 + random() % most_ranks, most_ranks, with.batch_size})
      ASSERT_EQ(batches_of(with, world_size, batches), whole) << "world size " << world_size;
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace headrace::global_order_test
