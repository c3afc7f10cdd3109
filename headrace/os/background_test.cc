#include "headrace/os/background.h"

#include <gtest/gtest.h>

#include <atomic>
#include <ctime>
#include <future>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <thread>

#include "headrace/os/thread_refusal_test.h"

namespace headrace {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using Clock = Background::Clock;

// Longer than any of these tests runs; a wait for so long ends one that would hang otherwise.
constexpr std::chrono::minutes kLong{2};

// Holds a thread of the background until it is let go.
class Held {
 public:
  explicit Held(Background& background) {
    background.add([state = state_] {
      state->thread = std::this_thread::get_id();
      state->has_begun.set_value();
      state->may_end.get_future().wait_for(kLong);
    });
  }
  bool has_begun() { return state_->has_begun.get_future().wait_for(kLong) == std::future_status::ready; }
  // REQUIRES: it has begun
  std::thread::id thread() const { return state_->thread; }
  void let_go() { state_->may_end.set_value(); }

 private:
  struct State {
    std::thread::id thread;
    std::promise<void> has_begun;
    std::promise<void> may_end;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

// Returns whether the background runs a task that is added now.
bool does_a_task(Background& background) {
  const auto done = std::make_shared<std::promise<void>>();
  std::future<void> is_done = done->get_future();
  background.add([done] { done->set_value(); });
  return is_done.wait_for(kLong) == std::future_status::ready;
}

milliseconds processor_time() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::duration_cast<milliseconds>(std::chrono::seconds(used.tv_sec) +
                                                  std::chrono::nanoseconds(used.tv_nsec));
}

TEST(Background, DoesEachTaskOnceInTheirOrder) {
  std::string done;
  {
    Background background(1);
    for (char name = 'a'; name <= 'j'; ++name) background.add([&done, name] { done += name; });
    EXPECT_TRUE(does_a_task(background));
  }
  EXPECT_EQ(done, "abcdefghij");
}

TEST(Background, UsesAllItsThreadsAndNoFurtherOne) {
  std::set<std::thread::id> threads;
  {
    Background background(2);
    Held first(background), second(background);
    ASSERT_TRUE(first.has_begun() && second.has_begun());
    threads = {first.thread(), second.thread()};
    for (int i = 0; i < 200; ++i)
      background.add([&] { threads.insert(std::this_thread::get_id()); });  // in the first one's thread
    first.let_go();
    EXPECT_TRUE(does_a_task(background));
    second.let_go();
  }
  EXPECT_EQ(threads.size(), 2U);
}

TEST(Background, GoesOnAfterATaskThatThrew) {
  Background background(1);
  background.add([] { throw std::bad_alloc(); });
  EXPECT_TRUE(does_a_task(background));
}

TEST(Background, ATaskWaitsForAThreadThatTheSystemRefused) {
  Background background(1);
  std::atomic<bool> is_done{false};
  {
    const ThreadRefusal refusal;
    background.add([&] { is_done = true; });
  }
  EXPECT_TRUE(does_a_task(background));
  EXPECT_TRUE(is_done);
}

TEST(Background, TasksThatAreDueComeFirstTheEarliestBeforeTheOthers) {
  std::string done;
  {
    Background background(1);
    Held held(background);
    EXPECT_TRUE(held.has_begun());
    const Clock::time_point now = Clock::now();
    background.add([&] { done += 'a'; });
    background.add_at(now - hours(1), [&] { done += 'c'; });
    background.add_at(now - hours(2), [&] { done += 'b'; });
    background.add_at(now + hours(1), [&] { done += 'x'; });
    held.let_go();
    EXPECT_TRUE(does_a_task(background));
  }
  EXPECT_EQ(done, "bca");
}

TEST(Background, ATaskForLaterIsNotDoneBeforeItsTime) {
  Background background(2);
  const Clock::time_point time = Clock::now() + milliseconds(30);
  std::promise<Clock::time_point> done;
  background.add_at(time, [&] { done.set_value(Clock::now()); });
  EXPECT_TRUE(does_a_task(background));
  EXPECT_GE(done.get_future().get(), time);
}

TEST(Background, ATaskForLaterNeedsNoOtherTask) {
  Background background(1);
  const auto done = std::make_shared<std::promise<void>>();
  background.add_at(Clock::now(), [done] { done->set_value(); });
  EXPECT_EQ(done->get_future().wait_for(kLong), std::future_status::ready);
}

TEST(Background, AThreadThatWaitsForALaterTimeTakesAnEarlierTask) {
  Background background(1);
  background.add_at(Clock::now() + hours(1), [] {});
  EXPECT_TRUE(does_a_task(background));
  std::promise<void> done;
  background.add_at(Clock::now() + milliseconds(1), [&] { done.set_value(); });
  EXPECT_EQ(done.get_future().wait_for(kLong), std::future_status::ready);
}

TEST(Background, WaitingTakesNoProcessorTime) {
  for (const bool for_a_later_time : {true, false}) {
    Background background(2);
    if (for_a_later_time) background.add_at(Clock::now() + hours(1), [] {});
    EXPECT_TRUE(does_a_task(background));
    const milliseconds before = processor_time();
    // A busy thread would use all of this time; one that waits, next to nothing.
    std::promise<void>().get_future().wait_for(milliseconds(100));
    EXPECT_LT(processor_time() - before, milliseconds(50)) << for_a_later_time;
  }
}

TEST(Background, ItsEndWaitsForWhatRunsAndDropsTheRest) {
  const auto kept_by_tasks = std::make_shared<int>();
  std::string done;
  {
    Background background(1);
    std::promise<void> has_begun;
    background.add([&] {
      has_begun.set_value();
      // Tasks are kept until the end begins.
      const Clock::time_point patience_ends = Clock::now() + kLong;
      for (auto task = std::make_shared<int>(); Clock::now() < patience_ends; std::this_thread::yield()) {
        background.add([task] {});
        if (task.use_count() == 1) break;
        task = std::make_shared<int>();
      }
      const auto task = std::make_shared<int>();
      background.add_at(Clock::now(), [task] {});
      done += task.use_count() == 1 ? 'a' : '-';
    });
    has_begun.get_future().wait();
    background.add([&, kept_by_tasks] { done += 'x'; });
    background.add_at(Clock::now() - hours(1), [&, kept_by_tasks] { done += 'y'; });
  }
  EXPECT_EQ(done, "a");
  EXPECT_EQ(kept_by_tasks.use_count(), 1);
}

TEST(Background, AThreadThatHasWaitedIsNotCountedAsIdleWhileItWorks) {
  Background background(3);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(does_a_task(background));
    std::this_thread::yield();
  }
  Held first(background);
  ASSERT_TRUE(first.has_begun());
  Held second(background);
  ASSERT_TRUE(second.has_begun());
  Held third(background);
  EXPECT_TRUE(third.has_begun());
  first.let_go();
  second.let_go();
  third.let_go();
}

}  // namespace
}  // namespace headrace
