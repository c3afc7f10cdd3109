#include "headrace/os/parallel.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <latch>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "headrace/os/thread_refusal_test.h"

namespace headrace {
namespace {

TEST(ParallelFor, VisitsEveryIndexOnce) {
  for (int threads : {0, 1, 2, 7}) {
    std::vector<std::atomic<int>> visits(100);
    ASSERT_TRUE(parallel_for(threads, visits.size(), [&](std::size_t i) {
      ++visits[i];
      return Status{};
    }));
    for (const auto& count : visits) EXPECT_EQ(count, 1);
  }
}

TEST(ParallelFor, ReturnsTheErrorOfTheLowestIndexAndStops) {
  std::atomic<int> started{0};
  const Status status = parallel_for(4, 100'000, [&](std::size_t i) -> Status {
    ++started;
    if (i == 10 || i == 11) return Error{Code::kDataLoss, std::to_string(i)};
    return {};
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "10");
  EXPECT_LT(started, 100'000);
}

TEST(ParallelFor, GoesOnWithTheThreadsThereAre) {
  const ThreadRefusal refusal;
  ASSERT_THROW(std::thread([] {}), std::system_error);
  std::size_t visits = 0;
  ASSERT_TRUE(parallel_for(4, 100, [&](std::size_t) {
    ++visits;
    return Status{};
  }));
  EXPECT_EQ(visits, 100U);
}

TEST(ParallelFor, ATaskThatRunsOutOfMemoryIsAnError) {
  const Status status = parallel_for(2, 10, [](std::size_t) -> Status { throw std::bad_alloc(); });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kResourceExhausted);
}

TEST(AvailableCores, AreThoseThatTheThreadMayRunOn) {
  std::jthread([] {
    cpu_set_t allowed;
    ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    EXPECT_EQ(available_cores(), CPU_COUNT(&allowed));
    int first = 0;
    while (!CPU_ISSET(first, &allowed)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(available_cores(), 1);
  }).join();
}

TEST(ParallelFor, RunsAsManyTasksAtATimeAsItMay) {
  std::latch all_are_there(3);
  std::atomic<int> late{0};
  ASSERT_TRUE(parallel_for(3, 3, [&](std::size_t) {
    all_are_there.count_down();
    const auto patience_ends = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!all_are_there.try_wait() && std::chrono::steady_clock::now() < patience_ends)
      std::this_thread::yield();
    late += all_are_there.try_wait() ? 0 : 1;
    return Status{};
  }));
  EXPECT_EQ(late, 0);
}

TEST(ParallelFor, OneThreadIsTheCallers) {
  std::set<std::thread::id> threads;
  for (const auto& [allowed, count] : {std::pair<int, std::size_t>(1, 50), {0, 50}, {8, 1}}) {
    ASSERT_TRUE(parallel_for(allowed, count, [&](std::size_t) {
      threads.insert(std::this_thread::get_id());
      std::this_thread::yield();
      return Status{};
    }));
  }
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
}

TEST(LowerThreadPriority, IsOfThisThreadAlone) {
  const int before = getpriority(PRIO_PROCESS, 0);
  int lowered = -1;
  std::thread([&] {
    lower_thread_priority();
    lowered = getpriority(PRIO_PROCESS, 0);
  }).join();
  EXPECT_EQ(lowered, std::max(before, 10));
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), before);
}

}  // namespace
}  // namespace headrace
