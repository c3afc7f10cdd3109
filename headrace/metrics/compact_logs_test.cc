#include "headrace/metrics/compact_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/metrics/metric_log.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

class CompactLogs : public testing::Test {
 protected:
  Location log(const std::string& part) const { return root.at(concat(kMetricsPrefix, "run/", part)); }
  void write(const std::string& part, std::uint64_t segments) {
    Bytes previous;
    for (std::uint64_t number = 0; number < segments; ++number) {
      const std::vector<MetricPoint> points = {{0, static_cast<std::int64_t>(number), 7, 0.5}};
      const std::vector<std::string> names = {"loss"};
      const Bytes segment = encode_segment(
          {.first = number, .last = number, .previous = previous, .points_digest = Bytes(32)}, names, points);
      ASSERT_TRUE(store->write(log(part).at(segment_name(number, number)).key, segment, {}));
      previous = sha256(segment);
    }
  }
  std::size_t segments(const std::string& part) const { return list_all(*store, log(part).key)->size(); }
  Result<CompactedLogs> compact(bool is_dry_run = false) const {
    return compact_logs(root, is_dry_run,
                        [&](const ObjectInfo& object) { return !object.key.ends_with(young); }, {});
  }

  std::shared_ptr<Store> store = make_memory_store("test");
  Location root{store, "x", {"memory", "test", "x"}};
  std::string young = "none";  // the end of a key
};

TEST_F(CompactLogs, ThoseOfManySegmentsLoseNoPoint) {
  write("long", 20);
  write("short", kMostSegmentsOfALog);
  const auto would = compact(true);
  ASSERT_TRUE(would);
  EXPECT_EQ(would->logs, 1U);
  EXPECT_EQ(segments("long"), 20U);
  const auto done = compact();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->logs, 1U);
  EXPECT_EQ(done->segments, 20U);
  EXPECT_EQ(segments("long"), 1U);
  EXPECT_EQ(segments("short"), kMostSegmentsOfALog);
  const auto read = MetricLog::open(log("long"), {});
  EXPECT_TRUE(read->verify());
  EXPECT_EQ(read->read("loss")->steps.size(), 20U);
  EXPECT_EQ(compact()->logs, 0U);
}

TEST_F(CompactLogs, ALogThatGrowsIsLeftToItsWriter) {
  write("living", 20);
  young = "/000019";
  EXPECT_EQ(compact()->logs, 0U);
  EXPECT_EQ(segments("living"), 20U);
}

TEST_F(CompactLogs, ADamagedLogIsToldAndHoldsUpNoOther) {
  write("bad", 20);
  write("good", 20);
  ASSERT_TRUE(write_text(*store, log("bad").at("000003").key, "damaged"));
  const auto done = compact();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->logs, 1U);
  ASSERT_EQ(done->bad.size(), 1U);
  EXPECT_THAT(done->bad[0].url, testing::HasSubstr("run/bad"));
  EXPECT_EQ(segments("bad"), 20U);
  EXPECT_EQ(segments("good"), 1U);
}

TEST_F(CompactLogs, WhatIsNoSegmentIsLeftAlone) {
  ASSERT_TRUE(write_text(*store, log("part").at("note.txt").key, "mine"));
  ASSERT_TRUE(write_text(*store, root.at(concat(kMetricsPrefix, "000000")).key, "mine"));
  const auto done = compact();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->logs, 0U);
  EXPECT_EQ(list_all(*store, "")->size(), 2U);
}

}  // namespace
}  // namespace headrace
