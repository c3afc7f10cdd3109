#include "headrace/events/event_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <string>
#include <thread>

#include "headrace/events/log_folder.h"
#include "headrace/log/full_disk_test.h"
#include "headrace/log/recover_segments.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/scratch_folder_test.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

ScratchFolder& event_scratch = *static_cast<ScratchFolder*>(
    testing::AddGlobalTestEnvironment(new ScratchFolder));  // NOLINT: gtest owns it

class FailingStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    is_asked = true;
    is_asked.notify_all();
    answers.wait(false);
    if (is_failing) return Error{Code::kPermissionDenied, "may not write"};
    return ForwardingStore::write(key, data, options);
  }
  std::atomic<bool> is_failing = false;
  std::atomic<bool> is_asked = false;
  std::atomic<bool> answers = true;
};

class EventWriterTest : public testing::Test {
 protected:
  std::shared_ptr<EventWriter> open(double flush_seconds = 30) {
    auto writer = EventWriter::open(
        {store, "run/events.out.tfevents.1", {"memory", "m", "run"}}, 100,
        {.writer = "test", .flush_seconds = flush_seconds, .now = [this] { return now.load(); }}, background);
    EXPECT_TRUE(writer);
    return *std::move(writer);
  }
  static Status add(EventWriter& writer, std::int64_t step, std::string_view tag = "loss") {
    return writer.add([&](EventEncoder& encoder, Bytes& out) {
      encoder.scalar(out, {.wall_time_s = 101, .step = step}, tag, 0.5F);
    });
  }
  // Adds events until the log is full, because the store accepts nothing. Returns how many the log has taken.
  std::int64_t fill(EventWriter& writer) {
    store->is_failing = true;
    EXPECT_TRUE(add(writer, 0));
    pass(seconds(2));
    EXPECT_EQ(writer.flush().error().code, Code::kPermissionDenied);
    std::int64_t step = 1;
    Status status;
    while (status && step < 10'000'000) status = add(writer, step++);
    EXPECT_EQ(status.error().code, Code::kResourceExhausted);
    return step - 1;
  }
  void pass(seconds time) { now = now.load() + time; }
  std::size_t objects() { return list_all(*store, "")->size(); }
  // Returns the number of points that TensorBoard shows.
  std::size_t points(const std::string& tag) {
    LogFolder folder({store, "", {"memory", "m", ""}}, {.reading_time = std::chrono::minutes(1)});
    EXPECT_TRUE(folder.poll({}));
    std::size_t found = 0;
    folder.for_each_series({.plugin = "scalars", .tags = {{tag}}},
                           [&](const auto&, const auto&, const Series& series, const LogTimes& begun) {
                             ScalarColumns scratch;
                             found += series.scalars(begun, scratch).steps.size();
                           });
    return found;
  }

  std::shared_ptr<FailingStore> store = std::make_shared<FailingStore>(make_memory_store("m"));
  // Far in the future of the background's clock, so that scheduled tasks do not run by chance.
  std::atomic<Background::Clock::time_point> now = Background::Clock::now() + std::chrono::hours(1);
  Background background{1};
};

TEST_F(EventWriterTest, WhatIsClosedIsThere) {
  const auto writer = open();
  for (int step = 0; step < 100'000; ++step) ASSERT_TRUE(add(*writer, step));
  ASSERT_TRUE(writer->close());
  ASSERT_TRUE(writer->close());
  EXPECT_EQ(points("loss"), 100'000U);
  EXPECT_EQ(add(*writer, 1).error().code, Code::kFailedPrecondition);
}

TEST_F(EventWriterTest, TimeThatPassesFlushesWithoutAnotherEvent) {
  now = Background::Clock::now();
  const auto writer = open(0.1);
  ASSERT_TRUE(add(*writer, 1));
  EXPECT_EQ(objects(), 0U);
  pass(seconds(2));
  const auto deadline = Background::Clock::now() + seconds(30);
  while (objects() == 0 && Background::Clock::now() < deadline) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(points("loss"), 1U);
}

TEST_F(EventWriterTest, WhatTheStoreRefusesMeanwhileIsToldOnceAndKept) {
  const auto writer = open(0.01);
  pass(seconds(2));
  store->is_failing = true;
  std::size_t added = 1;
  Status told = add(*writer, 0);
  const auto deadline = Background::Clock::now() + seconds(30);
  while (told && Background::Clock::now() < deadline) {
    std::this_thread::sleep_for(milliseconds(10));
    told = add(*writer, static_cast<std::int64_t>(added++));
  }
  EXPECT_EQ(told.error().code, Code::kPermissionDenied);
  store->is_failing = false;
  ASSERT_TRUE(writer->close());
  EXPECT_EQ(points("loss"), added);
}

TEST_F(EventWriterTest, AStoreThatTakesEventsAgainGetsAllThatWereNotRefused) {
  const auto writer = open();
  const auto taken = static_cast<std::size_t>(fill(*writer));
  EXPECT_EQ(add(*writer, 0, "accuracy").error().code, Code::kResourceExhausted);
  store->is_failing = false;
  pass(seconds(20));
  ASSERT_TRUE(writer->flush());
  ASSERT_TRUE(add(*writer, 1, "accuracy"));
  ASSERT_TRUE(writer->close());
  EXPECT_EQ(points("loss"), taken);
  EXPECT_EQ(points("accuracy"), 1U) << "the one that was refused first described the tag";
}

TEST_F(EventWriterTest, ClosingOffersWhatWasRefusedOnceMore) {
  const auto writer = open();
  const auto taken = static_cast<std::size_t>(fill(*writer));
  EXPECT_EQ(writer->close().error().code, Code::kPermissionDenied);
  store->is_failing = false;
  ASSERT_TRUE(writer->close());
  EXPECT_EQ(points("loss"), taken);
}

class JournaledEventWriterTest : public EventWriterTest {
 protected:
  // `gone`: what this writer sends does not arrive, as if it was killed.
  std::shared_ptr<EventWriter> open_with_journal(milliseconds interval = std::chrono::hours(1)) {
    return open_with_journal(interval, 30, background);
  }
  std::shared_ptr<EventWriter> open_with_journal(milliseconds interval, double flush_seconds,
                                                 Background& threads) {
    gone->is_failing = true;
    auto writer = EventWriter::open({gone, "run/events.out.tfevents.1", {"memory", "m", "run"}}, 100,
                                    {.writer = "test",
                                     .flush_seconds = flush_seconds,
                                     .journal = {.folder = state + "/a"},
                                     .journal_interval = interval,
                                     .now = [this] { return now.load(); }},
                                    threads);
    EXPECT_TRUE(writer);
    return *std::move(writer);
  }
  // A copy of the journal, as a kill leaves it.
  void copy_journal() { std::filesystem::copy(state + "/a", left + "/a", kRecursively); }
  void recover() {
    const auto open = [&](const std::string&) -> Result<Location> {
      return Location{store, "run/events.out.tfevents.1", {"memory", "m", "run"}};
    };
    const auto recovered = recover_segments(left, open, {});
    ASSERT_EQ(recovered.size(), 1U);
    EXPECT_TRUE(recovered[0].status) << recovered[0].status.error().message;
  }
  // The points that a kill would leave, once they are so many.
  std::size_t wait_for_points(std::size_t count) {
    const auto deadline = Background::Clock::now() + seconds(60);
    std::size_t found = 0;
    while (found < count && Background::Clock::now() < deadline) {
      std::this_thread::sleep_for(milliseconds(10));
      if (!std::filesystem::exists(state + "/a/000000")) continue;
      copy_journal();
      store = std::make_shared<FailingStore>(make_memory_store("m"));
      recover();
      found = points("loss");
    }
    return found;
  }
  void SetUp() override { std::filesystem::create_directories(left); }

  static constexpr auto kRecursively = std::filesystem::copy_options::recursive;
  const std::string state = event_scratch.new_root();
  const std::string left = event_scratch.new_root();
  std::shared_ptr<FailingStore> gone = std::make_shared<FailingStore>(make_memory_store("m"));
};

TEST_F(JournaledEventWriterTest, WhatWasFlushedToTheJournalSurvivesAKill) {
  const auto writer = open_with_journal();
  for (int step = 0; step < 100; ++step) ASSERT_TRUE(add(*writer, step));
  ASSERT_TRUE(writer->flush_journal());
  ASSERT_TRUE(add(*writer, 100));  // not acknowledged
  copy_journal();
  EXPECT_EQ(objects(), 0U) << "the store is not asked";
  recover();
  EXPECT_EQ(points("loss"), 100U);
}

TEST_F(JournaledEventWriterTest, TimeThatPassesIsEnoughToSurviveAKill) {
  const auto writer = open_with_journal(milliseconds(1));
  for (std::int64_t step = 1; step <= 3; ++step) {
    ASSERT_TRUE(add(*writer, step));
    EXPECT_EQ(wait_for_points(static_cast<std::size_t>(step)), step);
  }
}

TEST_F(JournaledEventWriterTest, AStoreThatDoesNotAnswerHoldsUpNoJournal) {
  Background threads{3};
  const auto writer = open_with_journal(milliseconds(1), 0, threads);
  pass(seconds(2));
  gone->answers = false;
  ASSERT_TRUE(add(*writer, 1));
  gone->is_asked.wait(false);
  EXPECT_EQ(wait_for_points(1), 1U);
  for (std::size_t step = 2; step <= 6; ++step) {
    ASSERT_TRUE(add(*writer, static_cast<std::int64_t>(step)));
    EXPECT_EQ(wait_for_points(step), step) << "tasks that wait for the store leave a thread to the journal";
  }
  gone->answers = true;
  gone->answers.notify_all();
}

TEST_F(JournaledEventWriterTest, WhatClosingHasLeftIsNotTriedAgainAtTheEnd) {
  auto writer = open_with_journal();
  ASSERT_TRUE(add(*writer, 1));
  ASSERT_FALSE(writer->close(seconds(1)));
  gone->is_asked = false;
  writer.reset();
  EXPECT_FALSE(gone->is_asked);
  copy_journal();
  recover();
  EXPECT_EQ(points("loss"), 1U);
}

TEST_F(JournaledEventWriterTest, AFullDiskKeepsTheEventsInMemory) {
  const auto writer = open_with_journal();
  ASSERT_TRUE(add(*writer, 1));
  {
    const FullDisk full(10);
    EXPECT_EQ(writer->flush_journal().error().code, Code::kResourceExhausted);
  }
  ASSERT_TRUE(add(*writer, 2));
  ASSERT_TRUE(writer->flush_journal());
  copy_journal();
  recover();
  EXPECT_EQ(points("loss"), 2U);
}

TEST_F(JournaledEventWriterTest, ClosingLeavesNoJournal) {
  const auto writer = open_with_journal();
  gone->is_failing = false;
  ASSERT_TRUE(add(*writer, 1));
  ASSERT_TRUE(writer->flush_journal());
  ASSERT_TRUE(writer->close());
  EXPECT_TRUE(std::filesystem::is_empty(state));
}

TEST_F(EventWriterTest, WithoutAJournalThereIsNothingToFlushToIt) {
  const auto writer = open();
  ASSERT_TRUE(add(*writer, 1));
  EXPECT_TRUE(writer->flush_journal());
  EXPECT_EQ(objects(), 0U);
}

TEST_F(EventWriterTest, AnIntervalThatIsNoneIsRefused) {
  for (const double interval : {-1.0, std::nan("")}) {
    const auto writer = EventWriter::open({store, "tfevents", {"memory", "m", "tfevents"}}, 100,
                                          {.writer = "test", .flush_seconds = interval}, background);
    EXPECT_EQ(writer.error().code, Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace headrace
