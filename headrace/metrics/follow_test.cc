#include "headrace/metrics/follow.h"

#include <gtest/gtest.h>

#include "headrace/base/text.h"
#include "headrace/record/event.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

class FollowTest : public testing::Test {
 protected:
  Location at(const std::string& key) const { return {store_, key, {"memory", "test", key}}; }

  // Points of "loss", at times that are a thousand times the steps.
  void put_segment(const std::string& part, std::uint64_t first, std::uint64_t last,
                   const std::vector<std::int64_t>& steps, std::optional<std::int64_t> from_step = {}) {
    const std::vector<std::string> names = {"loss"};
    std::vector<MetricPoint> points;
    for (const std::int64_t step : steps) points.push_back({0, step, step * 1000, 0.5});
    const Bytes segment =
        encode_segment({.first = first, .last = last, .from_step = from_step}, names, points);
    ASSERT_TRUE(store_->write(concat("logs/", part, "/", segment_name(first, last)), segment, {}));
  }
  void remove(const std::string& key) { ASSERT_TRUE(store_->remove_many(std::vector<std::string>{key}, {})); }

  // "rank:step" of each new point.
  template <typename Follower>
  std::string poll(Follower& follower) {
    std::vector<NewPoint> points;
    const Status polled = follower.poll({}, points);
    std::string out = polled ? "" : polled.error().message;
    for (const NewPoint& point : points)
      out += concat(out.empty() ? "" : " ", point.rank, ":", point.step, "@", point.time_us);
    return out;
  }

  std::shared_ptr<Store> store_ = make_memory_store("test");
};

TEST_F(FollowTest, ASegmentIsReadOnceWhenItIsThere) {
  SegmentFollower follower(at("logs"), 100);
  follower.add_log("a", 0);
  follower.add_log("b", 1);
  EXPECT_EQ(poll(follower), "");
  put_segment("a", 0, 0, {1, 2});
  put_segment("other", 0, 0, {77});
  EXPECT_EQ(poll(follower), "0:1@1000 0:2@2000");
  put_segment("a", 1, 1, {3});
  put_segment("a", 2, 2, {4});
  put_segment("b", 0, 0, {1});
  EXPECT_EQ(poll(follower), "0:3@3000 0:4@4000 1:1@1000");
  EXPECT_EQ(poll(follower), "");
}

TEST_F(FollowTest, ItBeginsWithTheLastSegments) {
  for (std::uint64_t number = 0; number < 5; ++number) {
    const auto step = static_cast<std::int64_t>(2 * number);
    put_segment("a", number, number, {step, step + 1});
  }
  SegmentFollower follower(at("logs"), 3);
  follower.add_log("a", 0);
  EXPECT_EQ(poll(follower), "0:6@6000 0:7@7000 0:8@8000 0:9@9000");
  put_segment("a", 5, 5, {10});
  EXPECT_EQ(poll(follower), "0:10@10000");
}

TEST_F(FollowTest, ACompactedSegmentGivesWhatIsNewInIt) {
  SegmentFollower follower(at("logs"), 100);
  follower.add_log("a", 0);
  put_segment("a", 0, 0, {1});
  put_segment("a", 1, 1, {2});
  EXPECT_EQ(poll(follower), "0:1@1000 0:2@2000");
  put_segment("a", 0, 2, {1, 2, 3});
  remove("logs/a/000000");
  remove("logs/a/000001");
  EXPECT_EQ(poll(follower), "0:3@3000");
  put_segment("a", 3, 3, {4});
  EXPECT_EQ(poll(follower), "0:4@4000");
}

TEST_F(FollowTest, AMissingSegmentIsAnErrorUntilItIsThere) {
  SegmentFollower follower(at("logs"), 100);
  follower.add_log("a", 0);
  put_segment("a", 0, 0, {1});
  EXPECT_EQ(poll(follower), "0:1@1000");
  put_segment("a", 2, 2, {3});
  EXPECT_NE(poll(follower).find("segment 000001 of a log is missing"), std::string::npos);
  put_segment("a", 1, 1, {2});
  EXPECT_EQ(poll(follower), "0:2@2000 0:3@3000");
}

// Names of parts: the latest attempt comes first.
TEST_F(FollowTest, PointsThatALaterAttemptSupersedesAreLeftOut) {
  put_segment("000000-9-old", 0, 0, {1, 2, 3, 4});
  put_segment("000000-8-new", 0, 0, {3, 5}, 3);
  put_segment("000001-9-rank", 0, 0, {3, 4});
  std::map<std::string, std::int64_t> ends;
  SegmentFollower follower(at("logs"), [&](const std::string& log, std::int64_t step) { ends[log] = step; });
  EXPECT_EQ(poll(follower), "0:3@3000 0:5@5000 0:1@1000 0:2@2000 0:3@3000 0:4@4000");
  EXPECT_EQ(ends, (std::map<std::string, std::int64_t>{{"000000-9-old", 3}}));
  put_segment("000000-9-old", 1, 1, {6});  // of a process that was stalled
  put_segment("000000-7-newest", 0, 0, {2}, 2);
  EXPECT_EQ(poll(follower), "0:2@2000");
  EXPECT_EQ(ends["000000-9-old"], 2);
  EXPECT_EQ(ends["000000-8-new"], 2);
}

TEST_F(FollowTest, AnEarlierAttemptThatIsFoundLaterIsSupersededToo) {
  put_segment("000000-8-new", 0, 0, {3}, 3);
  SegmentFollower follower(at("logs"), 100);
  follower.add_log("000000-8-new", 0);
  EXPECT_EQ(poll(follower), "0:3@3000");
  put_segment("000000-9-old", 0, 0, {2, 3});
  put_segment("000000-85-between", 0, 0,
              {1, 4});  // goes on with no step: its points count up to the later one
  follower.add_log("000000-9-old", 0);
  follower.add_log("000000-85-between", 0);
  EXPECT_EQ(poll(follower), "0:1@1000 0:2@2000");
}

TEST_F(FollowTest, EventFilesGiveWhatIsWrittenAfterARestartToo) {
  const auto put = [this](const std::string& key, double begun_s, const std::vector<std::int64_t>& steps) {
    EventEncoder encoder;
    Bytes file;
    encoder.begin_file(file, begun_s, "test");
    for (const std::int64_t step : steps)
      encoder.scalar(file, {begun_s + static_cast<double>(step), step}, "loss", 1.0F);
    ASSERT_TRUE(store_->write(key, file, {}));
  };
  EventFollower follower(2, EventMetrics("train", at("events"), {}));
  EXPECT_EQ(poll(follower), "");
  put("events/tfevents.1", 10, {0, 1, 2});
  EXPECT_EQ(poll(follower), "2:0@10000000 2:1@11000000 2:2@12000000");
  put("events/tfevents.2", 20, {1, 2});
  EXPECT_EQ(poll(follower), "2:1@21000000 2:2@22000000");
  EXPECT_EQ(poll(follower), "");
}

}  // namespace
}  // namespace headrace
