#include "headrace/prepare/record_spool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/store/layers/forwarding.h"

namespace headrace {
namespace {

Location memory_folder() {
  static StoreRegistry stores{Environment{}};
  static int count = 0;
  return *stores.open(concat("memory://spool-", ++count, "/work"));
}

std::vector<std::string> ids_in_order(const RecordSpool& spool, int split, std::uint64_t step) {
  std::vector<std::string> ids;
  const std::uint64_t count = spool.record_count(split);
  for (std::uint64_t first = 0; first < count; first = ids.size()) {
    const auto texts = spool.read(split, first, std::min(step, count - first), 300);
    EXPECT_TRUE(texts) << texts.error().message;
    if (!texts || texts->empty()) return ids;
    for (const SpooledText& text : *texts) {
      EXPECT_EQ(text.text, concat("text of ", text.id));
      EXPECT_EQ(text.label, static_cast<int>(text.id.size() % 2));
      ids.push_back(text.id);
    }
  }
  return ids;
}

void fill(RecordSpool& spool, int count, int stride) {
  for (int i = 0; i < count; ++i) {
    const std::string id = concat("id-", i * stride % count);
    ASSERT_TRUE(
        spool.add(i * stride % count % 3 == 0, static_cast<int>(id.size() % 2), id, concat("text of ", id)));
  }
  ASSERT_TRUE(spool.finish());
}

TEST(RecordSpool, OrderDependsOnSeedAndIdsAlone) {
  RecordSpool in_memory(memory_folder(), 44, 2, 64 << 20), spilled(memory_folder(), 44, 2, 2'000),
      other_seed(memory_folder(), 45, 2, 64 << 20);
  fill(in_memory, 1000, 1);
  fill(spilled, 1000, 7);  // another order of arrival, and many segments
  fill(other_seed, 1000, 1);
  for (const int split : {0, 1}) {
    const auto expected = ids_in_order(in_memory, split, 100);
    EXPECT_EQ(ids_in_order(spilled, split, 33), expected);
    EXPECT_NE(ids_in_order(other_seed, split, 100), expected);
    EXPECT_FALSE(std::is_sorted(expected.begin(), expected.end()));
  }
  EXPECT_EQ(in_memory.record_count(0) + in_memory.record_count(1), 1000U);
}

// Flips one bit of each of its first `damaged` reads.
class DamagingStore final : public ForwardingStore {
 public:
  DamagingStore(std::shared_ptr<Store> store, int damaged)
      : ForwardingStore(std::move(store)), left_(damaged) {}
  Status read_many(std::span<const ReadRequest> requests, const CallOptions& options) override {
    HEADRACE_CHECK(inner().read_many(requests, options));
    if (left_-- > 0) requests.back().target.back() ^= std::byte{4};
    return {};
  }

 private:
  int left_;
};

TEST(RecordSpool, DamageOnTheWayIsReadAgainAndDamageThatStaysIsAnError) {
  for (const int damaged : {1, 2}) {
    Location folder = memory_folder();
    folder.store = std::make_shared<DamagingStore>(folder.store, damaged);
    RecordSpool spool(folder, 1, 1, 200);
    for (const char* id : {"a", "b", "c", "d"}) ASSERT_TRUE(spool.add(0, 0, id, std::string(99, *id)));
    ASSERT_TRUE(spool.finish());
    const auto texts = spool.read(0, 0, 4, 1'000);
    ASSERT_EQ(texts.has_value(), damaged == 1);
    if (!texts) {
      EXPECT_EQ(texts.error().code, Code::kDataLoss);
      continue;
    }
    for (const SpooledText& text : *texts) EXPECT_EQ(text.text, std::string(99, text.id[0]));
  }
}

TEST(RecordSpool, GivesAsManyTextsAsFitIntoTheLimitButAtLeastOne) {
  RecordSpool spool(memory_folder(), 1, 1, 1 << 20);
  for (const char* id : {"a", "b", "c", "d", "e"}) ASSERT_TRUE(spool.add(0, 0, id, std::string(99, 'x')));
  ASSERT_TRUE(spool.finish());
  EXPECT_EQ(spool.read(0, 0, 5, 1)->size(), 1U);
  EXPECT_EQ(spool.read(0, 0, 5, 300)->size(), 3U);
  EXPECT_EQ(spool.read(0, 3, 2, 300)->size(), 2U);
}

TEST(RecordSpool, AnIdOccursOnce) {
  RecordSpool spool(memory_folder(), 1, 1, 1 << 20);
  ASSERT_TRUE(spool.add(0, 0, "a", "x"));
  const Status again = spool.add(0, 1, "a", "y");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kAlreadyExists);
  ASSERT_TRUE(spool.finish());
  EXPECT_EQ(spool.record_count(0), 1U);
}

TEST(RecordSpool, TwoProcessesMayUseOneFolder) {
  const Location folder = memory_folder();
  RecordSpool one(folder, 44, 2, 2'000), other(folder, 44, 2, 3'000);
  fill(one, 1000, 1);
  fill(other, 1000, 7);
  for (const int split : {0, 1}) EXPECT_EQ(ids_in_order(one, split, 33), ids_in_order(other, split, 50));
}

TEST(RecordSpool, NothingIsAnEmptyDataSet) {
  RecordSpool spool(memory_folder(), 1, 2, 1 << 20);
  ASSERT_TRUE(spool.finish());
  EXPECT_EQ(spool.record_count(0), 0U);
  EXPECT_TRUE(spool.read(0, 0, 0, 1)->empty());
}

}  // namespace
}  // namespace headrace
