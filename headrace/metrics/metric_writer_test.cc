#include "headrace/metrics/metric_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <stop_token>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/metrics/compact.h"
#include "headrace/metrics/metric_log.h"
#include "headrace/metrics/recover.h"
#include "headrace/metrics/run_metrics.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/layers/metered.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/scratch_folder_test.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ScratchFolder& scratch = *static_cast<ScratchFolder*>(
    testing::AddGlobalTestEnvironment(new ScratchFolder));  // NOLINT: gtest owns it

class UnreachableStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    ++writes;
    if (on_write) on_write();
    if (on_call) on_call(options.call);
    if (is_gone) return Error{Code::kUnavailable, "out of reach"};
    auto written = ForwardingStore::write(key, data, options);
    if (answers_left.fetch_sub(1) <= 0) return Error{Code::kUnavailable, "no answer"};
    return written;
  }
  std::function<void()> on_write;  // before a write is made
  std::function<void(const CallOptions&)> on_call;
  std::atomic<int> writes = 0;
  std::atomic<bool> is_gone = false;
  static constexpr int kAllAnswers = 1'000'000;
  std::atomic<int> answers_left = kAllAnswers;  // to writes, which are made nonetheless
};

class MetricWriterTest : public testing::Test {
 protected:
  std::shared_ptr<MetricWriter> open(
      const std::string& part, MetricWriterOptions options = {}, std::function<void()> on_look = [] {}) {
    options.journal_folder = concat(state(), "/", part);
    options.now = [this, on_look = std::move(on_look)] {
      on_look();
      return now;
    };
    options.wall_clock = [this] { return std::chrono::system_clock::time_point(milliseconds(++wall_ms)); };
    auto writer = MetricWriter::open(log(part), std::move(options), background);
    EXPECT_TRUE(writer) << writer.error().message;
    return *std::move(writer);
  }
  std::string state() const { return concat(folder, "/state/metrics"); }
  Location log(const std::string& part) const {
    return Location{store,
                    concat("_headrace/metrics/run/", part),
                    {"memory", "test", concat("_headrace/metrics/run/", part)}};
  }
  std::vector<double> values(const std::string& part, std::string_view name) const {
    const auto opened = MetricLog::open(log(part), {});
    EXPECT_TRUE(opened) << opened.error().message;
    const auto series = opened->read(name);
    EXPECT_TRUE(series) << series.error().message;
    return series->values;
  }
  std::vector<RecoveredLog> recover() const {
    return recover_metrics(
        state(),
        [&](const std::string& url) -> Result<Location> { return log(url.substr(url.rfind('/') + 1)); }, {});
  }
  // As a kill leaves it: the journal is not flushed once more.
  void kill(std::shared_ptr<MetricWriter>& writer) {
    const std::string from =
        concat(state(), "/", writer->location().key.substr(writer->location().key.rfind('/') + 1));
    const std::string kept = concat(folder, "/kept");
    std::filesystem::copy(from, kept, std::filesystem::copy_options::recursive);
    writer.reset();
    std::filesystem::remove_all(from);
    std::filesystem::rename(kept, from);
  }

  // A writer is killed before it wrote its two segments; whoever recovers them is killed before it removes
  // the journal.
  void recover_and_leave_the_journal() {
    auto writer = open("a");
    const std::uint32_t loss = *writer->metric("loss");
    for (const int step : {1, 2, 3}) {
      writer->log(loss, step, step);
      ASSERT_TRUE(writer->flush());  // the second one ends a file
      now += seconds(11);
    }
    kill(writer);
    const std::string journal = concat(state(), "/a"), kept = concat(folder, "/kept");
    std::filesystem::copy(journal, kept, std::filesystem::copy_options::recursive);
    ASSERT_EQ(recover().at(0).segments, 2U);
    std::filesystem::rename(kept, journal);
  }

  const std::string folder = scratch.new_root();
  std::atomic<std::int64_t> wall_ms = 1'790'000'000'000;
  // Far ahead of the background's clock, so that postponed work does not run by itself.
  Background::Clock::time_point now = Background::Clock::now() + std::chrono::hours(1);
  std::shared_ptr<UnreachableStore> store = std::make_shared<UnreachableStore>(make_memory_store("test"));
  Background background{2};
};

TEST_F(MetricWriterTest, WhatIsLoggedIsReadInOrder) {
  const auto writer = open("a");
  const std::uint32_t loss = *writer->metric("loss");
  const std::uint32_t rate = *writer->metric("rate");
  EXPECT_EQ(*writer->metric("loss"), loss);
  for (int step = 0; step < 1000; ++step) {
    const MetricWriter::Value row[] = {{loss, 1.0 / (step + 1)}, {rate, NAN}};
    writer->log(row, step);
  }
  ASSERT_TRUE(writer->close(seconds(10)));
  const auto read = MetricLog::open(log("a"), {});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->is_ended());
  EXPECT_TRUE(read->verify());
  EXPECT_THAT(read->names(), ElementsAre("loss", "rate"));
  const auto series = read->read("loss", 990, 993);
  ASSERT_TRUE(series);
  EXPECT_THAT(series->steps, ElementsAre(990, 991, 992));
  EXPECT_THAT(series->values, ElementsAre(1.0 / 991, 1.0 / 992, 1.0 / 993));
  EXPECT_EQ(values("a", "rate").size(), 1000U);
  EXPECT_FALSE(std::filesystem::exists(concat(state(), "/a")));
}

TEST_F(MetricWriterTest, WhatIsPublishedIsReadWhileTheWriterGoesOn) {
  const auto writer = open("part");
  const std::uint32_t loss = *writer->metric("loss");
  const MetricWriter::Value early{loss, 0.5};
  writer->log({&early, 1}, 7, 1'234'567);
  ASSERT_TRUE(writer->publish(seconds(10)));
  const auto series = MetricLog::open(log("part"), {})->read("loss");
  EXPECT_THAT(series->steps, ElementsAre(7));
  EXPECT_THAT(series->times_us, ElementsAre(1'234'567));
  writer->log(loss, 8, 0.25);
  EXPECT_THAT(values("part", "loss"), ElementsAre(0.5));
  ASSERT_TRUE(writer->close(seconds(10)));
  EXPECT_THAT(values("part", "loss"), ElementsAre(0.5, 0.25));
}

TEST_F(MetricWriterTest, PublishTellsIfTheStoreIsGone) {
  const auto writer = open("part");
  writer->log(*writer->metric("loss"), 0, 0.5);
  store->is_gone = true;
  EXPECT_EQ(writer->publish(milliseconds(0)).error().code, Code::kDeadlineExceeded);
  store->is_gone = false;
  EXPECT_TRUE(writer->publish(seconds(10)));
  EXPECT_THAT(values("part", "loss"), ElementsAre(0.5));
}

TEST_F(MetricWriterTest, PublishDoesNotWaitForPointsThatComeMeanwhile) {
  const auto writer = open("part");
  const std::uint32_t loss = *writer->metric("loss");
  writer->log(loss, 0, 0.5);
  constexpr int kMostWrites = 20;
  store->on_write = [&] {
    if (store->writes > kMostWrites) return;
    writer->log(loss, store->writes, 0.25);
    EXPECT_TRUE(writer->flush());
  };
  EXPECT_TRUE(writer->publish(seconds(10)));
  EXPECT_EQ(store->writes, 1);
  EXPECT_THAT(values("part", "loss"), ElementsAre(0.5));
}

TEST_F(MetricWriterTest, PublishEndsInTimeThoughTheStoreTakesSegments) {
  const auto writer = open("part");
  const std::uint32_t loss = *writer->metric("loss");
  store->is_gone = true;
  for (const int step : {0, 1, 2}) {
    writer->log(loss, step, step);
    EXPECT_FALSE(writer->publish(milliseconds(0)));
  }
  store->is_gone = false;
  store->on_write = [&] { now += seconds(6); };
  EXPECT_EQ(writer->publish(seconds(10)).error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(values("part", "loss"), ElementsAre(0, 1));
  EXPECT_TRUE(writer->publish(seconds(10)));
  EXPECT_THAT(values("part", "loss"), ElementsAre(0, 1, 2));
}

TEST_F(MetricWriterTest, NothingIsWrittenBetweenTheFlushesOfACallerWhoDoesThem) {
  const auto writer = open("part", {.journal_interval = milliseconds(0), .is_flushed_by_caller = true});
  now = Background::Clock::now();
  writer->log(*writer->metric("loss"), 0, 0.5);
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(writer->counts().waiting_bytes, 0U);
  ASSERT_TRUE(writer->flush());
  EXPECT_GT(writer->counts().waiting_bytes, 0U);
}

TEST_F(MetricWriterTest, NamesAreText) {
  const auto writer = open("a");
  EXPECT_TRUE(writer->metric("ü \"\n/.."));
  for (const std::string& name : {std::string(), std::string(1025, 'a'), std::string("\xff")})
    EXPECT_EQ(writer->metric(name).error().code, Code::kInvalidArgument);
}

TEST_F(MetricWriterTest, WhatWasFlushedSurvivesAKill) {
  auto writer = open("a");
  const std::uint32_t loss = *writer->metric("loss");
  writer->log(loss, 1, 0.5);
  writer->log(loss, 2, 0.25);
  ASSERT_TRUE(writer->flush());
  writer->log(loss, 3, 0.125);  // not acknowledged
  kill(writer);
  const auto recovered = recover();
  ASSERT_EQ(recovered.size(), 1U);
  EXPECT_TRUE(recovered[0].status) << recovered[0].status.error().message;
  EXPECT_EQ(recovered[0].points, 2U);
  EXPECT_THAT(values("a", "loss"), ElementsAre(0.5, 0.25));
  EXPECT_FALSE(MetricLog::open(log("a"), {})->is_ended());
  EXPECT_THAT(recover(), IsEmpty());
}

TEST_F(MetricWriterTest, PointsThatComeWhileItClosesAreThereOrAreCounted) {
  std::shared_ptr<MetricWriter> writer;
  bool is_closing = false;
  std::size_t logged = 1;
  writer = open("a", {.is_flushed_by_caller = true}, [&] {  // wherever `close` looks at the clock
    if (is_closing) writer->log(0, 2, static_cast<double>(++logged));
  });
  writer->log(*writer->metric("loss"), 1, 1.0);
  is_closing = true;
  ASSERT_TRUE(writer->close(seconds(10)));
  is_closing = false;
  EXPECT_GT(writer->counts().dropped, 0U) << "some come once the end is written";
  EXPECT_EQ(values("a", "loss").size() + writer->counts().dropped, logged);
}

TEST_F(MetricWriterTest, ClosingWaitsNoLongerThanItIsTold) {
  const auto writer = open("a");
  writer->log(*writer->metric("loss"), 1, 1.0);
  std::vector<milliseconds> deadlines;
  store->on_call = [&](const CallOptions& call) { deadlines.push_back(call.deadline); };
  store->is_gone = true;
  EXPECT_EQ(writer->close(seconds(0)).error().code, Code::kDeadlineExceeded);
  store->is_gone = false;
  ASSERT_TRUE(writer->close(seconds(5)));
  EXPECT_THAT(deadlines, ElementsAre(seconds(1), seconds(5)));
}

TEST_F(MetricWriterTest, AJournalOfALivingWriterIsLeftAlone) {
  const auto writer = open("a");
  writer->log(*writer->metric("loss"), 1, 0.5);
  ASSERT_TRUE(writer->flush());
  EXPECT_THAT(recover(), IsEmpty());
}

TEST_F(MetricWriterTest, AJournalHasOneWriter) {
  const auto writer = open("a");
  const auto second = MetricWriter::open(log("a"), {.journal_folder = concat(state(), "/a")}, background);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kAlreadyExists);
  writer->log(*writer->metric("loss"), 1, 1);
  ASSERT_TRUE(writer->close(seconds(10)));
  EXPECT_THAT(values("a", "loss"), ElementsAre(1));
}

TEST_F(MetricWriterTest, AJournalThatIsRecoveredWhileOthersBeginIsNotTaken) {
  std::jthread recovers([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) recover();
  });
  for (int i = 0; i < 200; ++i) {
    const auto writer = open(concat("part-", i));
    writer->log(*writer->metric("loss"), 1, i);
    ASSERT_TRUE(writer->close(seconds(10)));
  }
  recovers.request_stop();
  recovers.join();
  for (int i = 0; i < 200; ++i) ASSERT_THAT(values(concat("part-", i), "loss"), ElementsAre(i));
}

TEST_F(MetricWriterTest, AnOutageLosesNothing) {
  const auto writer = open("a");
  const std::uint32_t loss = *writer->metric("loss");
  store->is_gone = true;
  writer->log(loss, 1, 1);
  const Status closed = writer->close(seconds(0));
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(closed.error().message, HasSubstr("headrace runs recover"));
  EXPECT_GT(writer->counts().waiting_bytes, 0U);
  EXPECT_FALSE(writer->counts().last_failure);
  store->is_gone = false;
  EXPECT_TRUE(writer->close(seconds(10)));
  EXPECT_THAT(values("a", "loss"), ElementsAre(1));
}

TEST_F(MetricWriterTest, AnAnswerThatIsLostWritesNothingTwice) {
  const auto writer = open("a");
  store->answers_left = 0;
  writer->log(*writer->metric("loss"), 1, 1);
  ASSERT_FALSE(writer->close(seconds(0)));
  store->answers_left = UnreachableStore::kAllAnswers;
  EXPECT_TRUE(writer->close(seconds(10)));
  EXPECT_THAT(values("a", "loss"), ElementsAre(1));
}

TEST_F(MetricWriterTest, AKillBetweenSegmentAndJournalWritesNothingTwice) {
  auto writer = open("a");
  writer->log(*writer->metric("loss"), 1, 1);
  store->answers_left = 0;  // the segment is there, and its file, too
  ASSERT_FALSE(writer->close(seconds(0)));
  store->answers_left = UnreachableStore::kAllAnswers;
  kill(writer);
  const auto recovered = recover();
  ASSERT_EQ(recovered.size(), 1U);
  EXPECT_TRUE(recovered[0].status) << recovered[0].status.error().message;
  EXPECT_THAT(values("a", "loss"), ElementsAre(1));
  EXPECT_TRUE(MetricLog::open(log("a"), {})->is_ended());
}

TEST_F(MetricWriterTest, ASegmentThatWasCompactedMeanwhileIsNotRecoveredAgain) {
  auto writer = open("a");
  const std::uint32_t loss = *writer->metric("loss");
  writer->log(loss, 1, 1);
  ASSERT_TRUE(writer->flush());
  now += seconds(11);
  writer->log(loss, 2, 2);
  ASSERT_TRUE(writer->flush());  // ends the first file
  store->answers_left = 1;
  ASSERT_FALSE(writer->close(seconds(0)));  // both segments are there, and the second one's file, too
  store->answers_left = UnreachableStore::kAllAnswers;
  kill(writer);
  ASSERT_EQ(compact_log(log("a"), {})->written, 1U);
  const auto recovered = recover();
  ASSERT_EQ(recovered.size(), 1U);
  EXPECT_TRUE(recovered[0].status) << recovered[0].status.error().message;
  EXPECT_EQ(recovered[0].segments, 0U);
  EXPECT_THAT(values("a", "loss"), ElementsAre(1, 2));
  EXPECT_TRUE(MetricLog::open(log("a"), {})->verify());
  EXPECT_THAT(recover(), IsEmpty());
}

TEST_F(MetricWriterTest, TheFirstSegmentThatWasCompactedMeanwhileIsNotRecoveredAgain) {
  recover_and_leave_the_journal();
  ASSERT_EQ(compact_log(log("a"), {})->written, 1U);
  const auto recovered = recover();
  ASSERT_EQ(recovered.size(), 1U);
  EXPECT_TRUE(recovered[0].status) << recovered[0].status.error().message;
  EXPECT_EQ(recovered[0].segments, 0U);
  EXPECT_EQ(recovered[0].points, 0U);
  EXPECT_EQ(list_all(*store, "")->size(), 1U) << "the compacted segment alone";
  EXPECT_THAT(recover(), IsEmpty());
}

// A large segment stands alone, and a compacted one begins right after it.
TEST_F(MetricWriterTest, ASegmentAtTheBeginningOfACompactedOneIsNotRecoveredAgain) {
  recover_and_leave_the_journal();
  ASSERT_TRUE(write_text(*store, concat(log("a").key, "/000001-000002"), "both"));
  ASSERT_TRUE(remove_object(*store, concat(log("a").key, "/000001")));
  const auto recovered = recover();
  ASSERT_EQ(recovered.size(), 1U);
  EXPECT_TRUE(recovered[0].status) << recovered[0].status.error().message;
  EXPECT_EQ(recovered[0].segments, 1U) << "the one that stands alone, which is there already";
  EXPECT_EQ(list_all(*store, "")->size(), 2U);
}

TEST_F(MetricWriterTest, WhatIsLeftOfARemovedLogSaysSo) {
  auto writer = open("a");
  const std::uint32_t loss = *writer->metric("loss");
  writer->log(loss, 1, 1);
  ASSERT_TRUE(writer->flush());
  now += seconds(11);
  writer->log(loss, 2, 2);
  ASSERT_TRUE(writer->flush());
  store->answers_left = 1;
  ASSERT_FALSE(writer->close(seconds(0)));
  store->answers_left = UnreachableStore::kAllAnswers;
  kill(writer);
  const auto objects = list_all(*store, "");
  for (const ObjectInfo& object : *objects) ASSERT_TRUE(remove_object(*store, object.key));
  const auto recovered = recover();
  ASSERT_EQ(recovered.size(), 1U);
  ASSERT_FALSE(recovered[0].status);
  EXPECT_EQ(recovered[0].status.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(recovered[0].status.error().message, HasSubstr("was removed"));
  EXPECT_EQ(recover().size(), 1U) << "its points are kept";
}

TEST_F(MetricWriterTest, AnotherWriterOfTheSameLogIsTold) {
  const auto writer = open("a");
  writer->log(*writer->metric("loss"), 1, 1);
  ASSERT_TRUE(write_text(*store, concat(log("a").key, "/000000"), to_string(encode_segment({}, {}, {}))));
  const Status closed = writer->close(seconds(10));
  ASSERT_FALSE(closed);
  EXPECT_THAT(closed.error().message, HasSubstr("another process writes this log"));
}

TEST_F(MetricWriterTest, WhatDoesNotFitIsCounted) {
  const auto writer = open("a", {.most_journal_bytes = 1000, .most_held_points = 100});
  const std::uint32_t loss = *writer->metric("loss");
  store->is_gone = true;
  for (int step = 0; step < 150; ++step) writer->log(loss, step, step);
  EXPECT_EQ(writer->counts().dropped, 50U);
  EXPECT_TRUE(writer->flush());
  writer->log(loss, 1000, 0);
  const Status full = writer->flush();
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Code::kResourceExhausted);
  EXPECT_EQ(writer->counts().dropped, 51U);
}

TEST_F(MetricWriterTest, ADamagedEndOfAJournalLosesNoMore) {
  auto writer = open("a");
  const std::uint32_t loss = *writer->metric("loss");
  writer->log(loss, 1, 1);
  ASSERT_TRUE(writer->flush());
  writer->log(loss, 2, 2);
  ASSERT_TRUE(writer->flush());
  kill(writer);
  const std::string file = concat(state(), "/a/000000");
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 3);
  ASSERT_TRUE(recover().at(0).status);
  EXPECT_THAT(values("a", "loss"), ElementsAre(1));
}

TEST_F(MetricWriterTest, SegmentsFollowOneAnother) {
  const auto writer = open("a", {.segment_interval = seconds(10)});
  const std::uint32_t loss = *writer->metric("loss");
  for (int i = 0; i < 3; ++i) {
    writer->log(loss, i, i);
    ASSERT_TRUE(writer->flush());
    now += seconds(11);
    writer->log(loss, i, i + 0.5);
    ASSERT_TRUE(writer->flush());
    store->is_gone = i == 1;
  }
  store->is_gone = false;
  ASSERT_TRUE(writer->close(seconds(10)));
  EXPECT_THAT(values("a", "loss"), ElementsAre(0, 0.5, 1, 1.5, 2, 2.5));
  const auto read = MetricLog::open(log("a"), {});
  EXPECT_TRUE(read->verify());
  EXPECT_GE(read->segments().size(), 2U);
}

TEST_F(MetricWriterTest, ManySegmentsAreOneInTheEnd) {
  const auto writer = *MetricWriter::open(
      log("a"), {.journal_folder = concat(state(), "/a"), .segment_interval = milliseconds(1)}, background);
  const std::uint32_t loss = *writer->metric("loss");
  for (std::uint64_t i = 0; i < 12; ++i) {
    writer->log(loss, 1, static_cast<double>(i));
    ASSERT_TRUE(writer->flush());
    while (writer->counts().segments <= i) std::this_thread::sleep_for(milliseconds(1));
  }
  ASSERT_TRUE(writer->close(seconds(10)));
  EXPECT_EQ(values("a", "loss").size(), 12U);
  EXPECT_EQ(MetricLog::open(log("a"), {})->segments().size(), 1U);
}

// docs/reference/run-requests.md
TEST_F(MetricWriterTest, ARunCostsOneRequestEachIntervalAndOneAtItsEnd) {
  constexpr milliseconds kInterval{20};
  const auto metrics = std::make_shared<StoreMetrics>();
  const auto begin = std::chrono::steady_clock::now();
  const auto writer = *MetricWriter::open(make_metered(log("a"), metrics),
                                          {.journal_folder = concat(state(), "/a"),
                                           .journal_interval = milliseconds(1),
                                           .segment_interval = kInterval},
                                          background);
  const std::uint32_t loss = *writer->metric("loss");
  for (int step = 0; writer->counts().segments < 5; ++step) {
    writer->log(loss, step, step);
    std::this_thread::yield();
  }
  ASSERT_TRUE(writer->close(seconds(10)));
  const auto intervals = (std::chrono::steady_clock::now() - begin) / kInterval;
  const std::uint64_t writes = metrics->of(StoreOperation::kWrite).calls;
  EXPECT_EQ(writes, writer->counts().segments);
  EXPECT_LE(writes, static_cast<std::uint64_t>(intervals) + 1);
  for (const StoreOperation other : {StoreOperation::kRead, StoreOperation::kList, StoreOperation::kStat})
    EXPECT_EQ(metrics->of(other).calls, 0U);
}

TEST_F(MetricWriterTest, ManyThreadsLogAtOnce) {
  const auto writer = open("a", {.journal_interval = milliseconds(1)});
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      const std::uint32_t metric = *writer->metric(concat("rank/", thread));
      for (int step = 0; step < 5000; ++step) writer->log(metric, step, step);
    });
  }
  threads.clear();
  ASSERT_TRUE(writer->close(seconds(10)));
  for (int thread = 0; thread < 4; ++thread) {
    const std::vector<double> read = values("a", concat("rank/", thread));
    ASSERT_EQ(read.size(), 5000U);
    for (std::size_t step = 0; step < read.size(); ++step) ASSERT_EQ(read[step], static_cast<double>(step));
  }
}

TEST_F(MetricWriterTest, ALaterAttemptSupersedesFromItsStepOn) {
  const auto log_steps = [&](const std::string& part, std::optional<std::int64_t> from, int first, int last) {
    const auto writer = open(part, {.from_step = from});
    for (int step = first; step <= last; ++step)
      writer->log(*writer->metric("loss"), step, 100 * (from ? 1 : 0) + step);
    ASSERT_TRUE(writer->close(seconds(10)));
  };
  log_steps("a", {}, 1, 5);
  log_steps("b", 4, 4, 6);
  const RunMetrics run({{0, *MetricLog::open(log("b"), {})}, {0, *MetricLog::open(log("a"), {})}});
  const auto series = run.read("loss", 0);
  ASSERT_TRUE(series);
  EXPECT_THAT(series->steps, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(series->values, ElementsAre(1, 2, 3, 104, 105, 106));
  const auto summaries = run.summaries();
  ASSERT_TRUE(summaries);
  ASSERT_EQ(summaries->size(), 1U);
  EXPECT_EQ(summaries->at(0).points, 6U);
  EXPECT_EQ(summaries->at(0).last, 106);
  EXPECT_EQ(summaries->at(0).minimum, 1);
}

TEST(CoveringSegments, TheLargestRangeWins) {
  const auto segment = [](std::uint64_t first, std::uint64_t last) {
    return StoredSegment{first, last, segment_name(first, last), 1};
  };
  const auto keys = [](std::vector<StoredSegment> all) {
    auto covering = covering_segments(std::move(all), "log");
    std::vector<std::string> names;
    if (!covering) return std::vector<std::string>{covering.error().message};
    for (const StoredSegment& each : covering->chosen) names.push_back(each.key);
    return names;
  };
  EXPECT_THAT(keys({segment(0, 0), segment(1, 1), segment(2, 2)}), ElementsAre("000000", "000001", "000002"));
  EXPECT_THAT(keys({segment(0, 0), segment(1, 1), segment(0, 1), segment(2, 2)}),
              ElementsAre("000000-000001", "000002"));
  EXPECT_THAT(keys({segment(0, 1), segment(0, 3), segment(3, 3), segment(4, 4)}),
              ElementsAre("000000-000003", "000004"));
  EXPECT_THAT(keys({segment(0, 0), segment(2, 2)}), ElementsAre(HasSubstr("segment 000001 is missing")));
  EXPECT_THAT(keys({segment(0, 1), segment(1, 2)}), ElementsAre(HasSubstr("holds a part of the one before")));
  EXPECT_EQ(parse_segment_name("000001-000000"), std::nullopt);
  EXPECT_EQ(parse_segment_name("1"), std::nullopt);
  EXPECT_EQ(parse_segment_name("1000000"), std::pair(1'000'000UL, 1'000'000UL));
}

}  // namespace
}  // namespace headrace
