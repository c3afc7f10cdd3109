#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "headrace/base/sanitized_test.h"
#include "headrace/base/text.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/registry.h"
#include "headrace/track/lineage.h"
#include "headrace/track/recorder.h"
#include "headrace/track/run_keys.h"
#include "headrace/track/runs.h"

// Runs of several processes, one after another or together; and how many requests they take.
namespace headrace {
namespace {

// Counts what a server would be asked: of a listing, one for each thousand keys that are looked at.
class CountingStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    count(key);
    return ForwardingStore::read_into(key, target, options);
  }
  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    count(key);
    return ForwardingStore::stat(key, options);
  }
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    count(key);
    if (key.ends_with(dies_at_) && !dies_at_.empty()) return Error{Code::kUnavailable, "gone"};
    return ForwardingStore::write(key, data, options);
  }
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    std::size_t keys = 0;
    const Status status = ForwardingStore::list(prefix, options, [&](const ObjectInfo& object) {
      if (keys++ % 1'000 == 0) count(prefix);
      return visit(object);
    });
    if (keys == 0) count(prefix);
    return status;
  }
  // How many starts and ends of parts.
  std::size_t records_asked_for() const {
    return static_cast<std::size_t>(std::ranges::count_if(asked_, [](const auto& asked) {
      return asked.first.ends_with("/start") || asked.first.ends_with("/end");
    }));
  }
  std::size_t requests() {
    std::size_t sum = 0;
    for (const auto& [key, times] : asked_) sum += times;
    return sum;
  }
  void forget() { asked_.clear(); }
  void die_at(std::string name) { dies_at_ = std::move(name); }

 private:
  void count(std::string_view key) {
    const std::scoped_lock lock(mutex_);
    ++asked_[std::string(key)];
  }

  std::mutex mutex_;
  std::map<std::string, std::size_t> asked_;
  std::string dies_at_;
};

class Ranks : public testing::Test {
 protected:
  Location at(std::string_view url) {
    Location location = *stores.open(url);
    location.store = store;
    return location;
  }
  Result<RunRecorder> start(std::string_view output, const RecorderOptions& wanted = {},
                            std::map<std::string, std::string> host = {}, std::string command = "train") {
    now += std::chrono::seconds(1);
    RecorderOptions options = wanted;
    options.now = [this] { return now; };
    return RunRecorder::start(stores, at(output), {.command = std::move(command), .host = std::move(host)},
                              options);
  }
  std::string resumed_from(const Result<RunRecorder>& recorder, std::uint64_t rank = 0) {
    const auto run = read_run(root, recorder->run_id());
    for (const RunPart& part : run->parts) {
      if (part.start.rank == rank) return part.start.resumed_from;
    }
    return "no such rank";
  }

  StoreRegistry stores{Environment{}};
  std::shared_ptr<CountingStore> store = std::make_shared<CountingStore>(stores.open("memory://b")->store);
  Location root = at("memory://b");
  std::chrono::system_clock::time_point now{std::chrono::milliseconds(1795231560125)};
};

TEST_F(Ranks, ShareARunAndFinishItTogether) {
  std::vector<RunRecorder> ranks;
  for (std::uint64_t rank : {0U, 1U, 2U})
    ranks.push_back(*start("memory://b/runs/1", {.run_id = "job-7", .rank = rank, .ranks = 3}));
  const auto status = [this] { return read_run(root, "job-7")->status(); };
  EXPECT_EQ(status(), RunStatus::kUnfinished);
  ASSERT_TRUE(ranks[0].finish({}, {.metrics = {{"loss", 0.5}}}));
  ASSERT_TRUE(ranks[1].finish({}, {}));
  EXPECT_EQ(status(), RunStatus::kUnfinished);
  ASSERT_TRUE(ranks[2].finish({}, {}));
  EXPECT_EQ(status(), RunStatus::kFinished);
  const auto list = list_runs(root, 10);
  ASSERT_EQ(list->runs.size(), 1U);
  EXPECT_EQ(list->runs[0].end->metrics.at("loss"), 0.5);
}

TEST_F(Ranks, NeverNameALivingSiblingAsResumedFrom) {
  const auto first = start("memory://b/runs/1", {.run_id = "job-7", .rank = 0, .ranks = 2});
  const auto second = start("memory://b/runs/1", {.run_id = "job-7", .rank = 1, .ranks = 2});
  EXPECT_EQ(resumed_from(second, 1), "");
  const auto again = start("memory://b/runs/1", {.run_id = "job-8", .rank = 1, .ranks = 2});
  EXPECT_EQ(resumed_from(again, 1), "job-7");
}

TEST_F(Ranks, AJobThatIsStartedAgainGoesOnWithItself) {
  const auto killed = start("memory://b/runs/1", {.run_id = "job-7"});
  auto again = start("memory://b/runs/1", {.run_id = "job-7"});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(resumed_from(again), "job-7");
  ASSERT_TRUE(again->finish({}, {}));
  const auto run = read_run(root, "job-7");
  EXPECT_EQ(run->status(), RunStatus::kFinished);
  EXPECT_EQ(run->parts.size(), 2U);
  EXPECT_EQ(resumed_from(start("memory://b/runs/1", {.run_id = "job-7"})), "");
}

TEST_F(Ranks, AJobThatIsStartedAgainMayHaveFewer) {
  for (std::uint64_t rank : {0U, 1U, 2U})
    static_cast<void>(start("memory://b/runs/1", {.run_id = "job-7", .rank = rank, .ranks = 3}));
  for (std::uint64_t rank : {0U, 1U}) {
    auto again = start("memory://b/runs/1", {.run_id = "job-7", .rank = rank, .ranks = 2});
    ASSERT_TRUE(again->finish({}, {}));
  }
  EXPECT_EQ(read_run(root, "job-7")->status(), RunStatus::kFinished);
}

TEST_F(Ranks, AClockThatJumpsBackChangesNoOrderOfAttempts) {
  for (const std::uint64_t rank : {0U, 1U})
    ASSERT_TRUE(start("memory://b/runs/1", {.run_id = "job-7", .rank = rank, .ranks = 2}));
  now -= std::chrono::hours(5);
  std::vector<RunRecorder> again;
  for (const std::uint64_t rank : {1U, 0U})
    again.push_back(*start("memory://b/runs/1", {.run_id = "job-7", .rank = rank, .ranks = 2}));
  for (RunRecorder& rank : again) ASSERT_TRUE(rank.finish({}, {.metrics = {{"loss", 0.5}}}));
  const auto run = read_run(root, "job-7");
  ASSERT_EQ(run->parts.size(), 4U);
  EXPECT_EQ(run->parts[0].name, again[1].part()) << "the latest attempt of rank 0 comes first";
  EXPECT_EQ(run->parts[2].name, again[0].part());
  EXPECT_EQ(run->status(), RunStatus::kFinished) << "the latest attempts count";
  EXPECT_EQ(run->end->metrics.at("loss"), 0.5);
}

TEST_F(Ranks, ARunThatEndsBeforeItBeganByTheClockTookNoTime) {
  auto recorder = start("memory://b/runs/1");
  now -= std::chrono::hours(1);
  ASSERT_TRUE(recorder->finish({}, {}));
  EXPECT_EQ(read_run(root, recorder->run_id())->end->seconds, 0);
}

TEST_F(Ranks, WhatMayBeAtWorkIsNotContinued) {
  const auto first = start("memory://b/runs/1");
  const auto second = start("memory://b/runs/1", {.continues_earlier = false});
  EXPECT_EQ(resumed_from(second), "");
}

TEST_F(Ranks, AnIdOfAnotherRunIsRefused) {
  ASSERT_TRUE(start("memory://b/runs/1", {.run_id = "job-7"}));
  EXPECT_EQ(start("memory://b/runs/2", {.run_id = "job-7"}).error().code, Code::kFailedPrecondition);
  EXPECT_EQ(start("memory://b/runs/1", {.run_id = "job-7"}, {}, "prepare").error().code,
            Code::kFailedPrecondition);
  EXPECT_EQ(start("memory://b/runs/1", {.run_id = "job/7"}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(start("memory://b/runs/1", {.rank = 0, .ranks = 2}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(start("memory://b/runs/1", {.run_id = "x", .rank = 2, .ranks = 2}).error().code,
            Code::kInvalidArgument);
}

TEST_F(Ranks, AStalledProcessThatEndsLateHarmsNoRecord) {
  auto stalled = start("memory://b/runs/1", {.run_id = "job-7"});
  auto second = start("memory://b/runs/1", {.run_id = "job-7"});
  ASSERT_TRUE(second->finish({}, {.metrics = {{"loss", 0.5}}}));
  ASSERT_FALSE(stalled->finish(Error{Code::kAborted, "another took over"}, {}));
  const auto run = read_run(root, "job-7");
  EXPECT_EQ(run->status(), RunStatus::kFinished) << "the latest attempt counts";
  EXPECT_EQ(run->end->metrics.at("loss"), 0.5);
}

TEST_F(Ranks, AKilledRunKeepsWhatItHadRecorded) {
  ASSERT_TRUE(write_text(*store, "data/x", "x"));
  auto killed = start("memory://b/runs/1");
  ASSERT_TRUE(killed->add_input("data", at("memory://b/data")));
  ASSERT_TRUE(killed->add_input("data", at("memory://b/data/x")));
  ASSERT_TRUE(killed->add_series({"train", "memory://b/runs/1/events/train", "event_files"}));
  const auto run = read_run(root, killed->run_id());
  ASSERT_EQ(run->inputs().size(), 2U);
  EXPECT_EQ(run->inputs()[0].name, "data");
  EXPECT_EQ(run->inputs()[1].name, "data-2");
  ASSERT_EQ(run->so_far.series.size(), 1U);
  EXPECT_EQ(run->so_far.series[0].name, "train");
}

TEST_F(Ranks, OneThatIsKilledBeforeItsStartIsThereLeavesNothingThatCounts) {
  store->die_at("/start");
  EXPECT_FALSE(start("memory://b/runs/1"));
  store->die_at("");
  EXPECT_EQ(resumed_from(start("memory://b/runs/1")), "");
  EXPECT_EQ(list_runs(root, 10)->runs.size(), 1U);
}

TEST_F(Ranks, AnotherKindOfProcessorIsSaidAndRecorded) {
  const std::map<std::string, std::string> old_host = {{"instruction_sets", "avx2 fma"}};
  const std::map<std::string, std::string> new_host = {{"instruction_sets", "avx2 avx512f fma"}};
  EXPECT_TRUE(start("memory://b/runs/1", {}, old_host)->remarks().empty());
  EXPECT_TRUE(start("memory://b/runs/1", {}, old_host)->remarks().empty());
  EXPECT_TRUE(start("memory://b/runs/2", {}, new_host)->remarks().empty());
  const auto moved = start("memory://b/runs/1", {}, new_host);
  ASSERT_EQ(moved->remarks().size(), 1U);
  EXPECT_THAT(moved->remarks()[0], testing::HasSubstr("avx2 fma, now avx2 avx512f fma"));
  EXPECT_EQ(read_run(root, moved->run_id())->start.remarks, moved->remarks());
}

TEST_F(Ranks, StartingTakesAsManyRequestsWithThousandsOfRunsAsWithTen) {
  const auto requests_of = [this](std::string_view output) {
    store->forget();
    EXPECT_TRUE(start(output));
    return store->requests();
  };
  const auto run_many = [this](int from, int to) {
    for (int i = from; i < to; ++i) {
      // Every second one into the same output.
      auto recorder = start(i % 2 == 0 ? concat("memory://b/many/", i) : "memory://b/runs/1");
      ASSERT_TRUE(recorder->finish({}, {}));
    }
  };
  run_many(0, 10);
  const std::size_t before = requests_of("memory://b/runs/1");
  const std::size_t new_before = requests_of("memory://b/runs/new");
  run_many(10, static_cast<int>(cases(10'000)));
  EXPECT_EQ(requests_of("memory://b/runs/1"), before);
  EXPECT_EQ(requests_of("memory://b/runs/newer"), new_before);
  EXPECT_LE(before, 10U);
  EXPECT_LE(new_before, 10U);
}

TEST_F(Ranks, LineageReadsOnlyTheRunsInvolved) {
  ASSERT_TRUE(write_text(*store, "raw/x", "x"));
  ASSERT_TRUE(write_text(*store, "data/x", "x"));
  ASSERT_TRUE(write_text(*store, "runs/1/x", "x"));
  const auto make = [this](std::string command, std::string from, const std::string& to) {
    auto recorder = start(to, {}, {}, std::move(command));
    ASSERT_TRUE(recorder->add_input("input", at(from)));
    ASSERT_TRUE(recorder->add_output("output", at(to)));
    ASSERT_TRUE(recorder->finish({}, {}));
  };
  make("prepare", "memory://b/raw", "memory://b/data");
  make("train", "memory://b/data", "memory://b/runs/1");
  for (int i = 0; i < 1'000; ++i) {
    const std::string other = concat("memory://b/other/", i);
    ASSERT_TRUE(write_text(*store, concat("other/", i, "/x"), "x"));
    make("train", "memory://b/other", other);
  }
  store->forget();
  RunPool runs(stores);
  ASSERT_TRUE(runs.add(root));
  const auto lineage = lineage_of("memory://b/runs/1", runs);
  ASSERT_TRUE(lineage);
  ASSERT_EQ(lineage->upstream.steps.size(), 1U);
  EXPECT_EQ(lineage->upstream.steps[0].nodes.at(0).steps.size(), 1U);
  EXPECT_EQ(runs.runs().size(), 2U);
  EXPECT_EQ(store->records_asked_for(), 2U * 2);
  EXPECT_LE(store->requests(), 40U);
}

}  // namespace
}  // namespace headrace
