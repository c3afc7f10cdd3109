#include "headrace/net/poller.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <set>
#include <utility>
#include <vector>

#include "headrace/os/file_descriptor.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;

// Two connected sockets.
struct Pair {
  Pair() {
    std::array<int, 2> both{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, both.data()), 0);
    here = FileDescriptor(both[0]);
    there = FileDescriptor(both[1]);
  }
  void say() const { EXPECT_EQ(::send(there.get(), "x", 1, 0), 1); }
  FileDescriptor here, there;
};

std::vector<Poller::Ready> ready_of(Poller& poller, milliseconds at_most = milliseconds(0)) {
  const auto ready = poller.wait(at_most);
  EXPECT_TRUE(ready);
  return {ready->begin(), ready->end()};
}

TEST(Poller, TellsWhichDescriptorIsReadyForWhat) {
  const auto poller = *Poller::create();
  const Pair quiet, busy;
  ASSERT_TRUE(poller->watch(quiet.here.get(), {.read = true}, 7));
  ASSERT_TRUE(poller->watch(busy.here.get(), {.read = true}, 8));
  EXPECT_TRUE(ready_of(*poller).empty());
  busy.say();
  const auto readable = ready_of(*poller, std::chrono::hours(1));
  ASSERT_EQ(readable.size(), 1U);
  EXPECT_EQ(readable[0].tag, 8U);
  EXPECT_TRUE(readable[0].readable);
  EXPECT_FALSE(readable[0].writable);
  ASSERT_TRUE(poller->watch(busy.here.get(), {.write = true}, 9)) << "another interest, and another tag";
  const auto writable = ready_of(*poller);
  ASSERT_EQ(writable.size(), 1U);
  EXPECT_EQ(writable[0].tag, 9U);
  EXPECT_FALSE(writable[0].readable);
  EXPECT_TRUE(writable[0].writable);
}

TEST(Poller, AnEndIsReadableAndABrokenDescriptorIsReadyForAll) {
  const auto poller = *Poller::create();
  Pair ended, broken;
  ASSERT_TRUE(poller->watch(ended.here.get(), {.read = true}, 1));
  ::shutdown(ended.there.get(), SHUT_WR);
  const auto end = ready_of(*poller);
  ASSERT_EQ(end.size(), 1U);
  EXPECT_TRUE(end[0].readable);
  EXPECT_FALSE(end[0].writable);
  poller->forget(ended.here.get());
  ASSERT_TRUE(poller->watch(broken.here.get(), {}, 2));
  broken.there = FileDescriptor();
  const auto gone = ready_of(*poller);
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_TRUE(gone[0].readable);
  EXPECT_TRUE(gone[0].writable);
}

TEST(Poller, WhatIsForgottenIsNotToldAndMayBeWatchedAgain) {
  const auto poller = *Poller::create();
  const Pair pair, other;
  pair.say();
  ASSERT_TRUE(poller->watch(pair.here.get(), {.read = true}, 1));
  poller->forget(other.here.get());
  EXPECT_EQ(ready_of(*poller).size(), 1U);
  poller->forget(pair.here.get());
  poller->forget(pair.here.get());
  EXPECT_TRUE(ready_of(*poller).empty());
  ASSERT_TRUE(poller->watch(pair.here.get(), {.read = true}, 2));
  EXPECT_EQ(ready_of(*poller).size(), 1U);
}

TEST(Poller, AWakeEndsOneWait) {
  const auto poller = *Poller::create();
  poller->wake();
  poller->wake();
  EXPECT_TRUE(ready_of(*poller, std::chrono::hours(1)).empty());
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(ready_of(*poller, milliseconds(5)).empty());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(5)) << "and not the next one";
  EXPECT_TRUE(ready_of(*poller, milliseconds(-1)).empty()) << "a time that has passed is not a wait";
  const Pair pair;
  ASSERT_TRUE(poller->watch(pair.here.get(), {.read = true}, 1));
  pair.say();
  poller->wake();
  EXPECT_EQ(ready_of(*poller).size(), 1U);
}

TEST(Poller, OfManyNoneIsForgotten) {
  const auto poller = *Poller::create();
  std::vector<Pair> pairs(150);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    ASSERT_TRUE(poller->watch(pairs[i].here.get(), {.read = true}, i));
    pairs[i].say();
  }
  std::set<std::uint64_t> seen;
  for (int waits = 0; waits < 10; ++waits)
    for (const Poller::Ready& ready : ready_of(*poller)) seen.insert(ready.tag);
  EXPECT_EQ(seen.size(), pairs.size());
}

TEST(Poller, ADescriptorThatCannotBeWatchedIsAnError) {
  const auto poller = *Poller::create();
  Pair pair;
  const int closed = std::exchange(pair.here, FileDescriptor()).get();
  for (int i = 0; i < 2; ++i) {
    const Status refused = poller->watch(closed, {.read = true}, 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
    EXPECT_EQ(refused.error().message, "epoll: Bad file descriptor");
  }
}

}  // namespace
}  // namespace headrace
