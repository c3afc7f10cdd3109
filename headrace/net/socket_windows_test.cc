#include <gtest/gtest.h>
#include <winsock2.h>

#include <chrono>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "headrace/net/poller.h"
#include "headrace/net/socket.h"
#include "headrace/net/winsock.h"

namespace headrace {
namespace {

using State = IoAttempt::State;

constexpr std::chrono::hours kLong{1};

struct Listener {
  Listener() {
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    int size = sizeof address;
    auto* const at = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(handle(), at, size), 0);
    EXPECT_EQ(::getsockname(handle(), at, &size), 0);
    EXPECT_EQ(::listen(handle(), 4), 0);
  }
  SOCKET handle() const { return static_cast<SOCKET>(socket.get()); }
  FileDescriptor connect() const {
    return *start_connecting(resolve("127.0.0.1", ::ntohs(address.sin_port))->front());
  }
  FileDescriptor socket = *open_winsock(AF_INET, SOCK_STREAM, IPPROTO_TCP);
  sockaddr_in address{};
};

std::vector<Poller::Ready> ready_of(Poller& poller, std::chrono::milliseconds at_most = kLong) {
  const auto ready = poller.wait(at_most);
  EXPECT_TRUE(ready);
  return {ready->begin(), ready->end()};
}

// Two connected sockets that the poller has reported.
struct Pair {
  explicit Pair(const Listener& listener) {
    const auto poller = *Poller::create();
    here = listener.connect();
    EXPECT_TRUE(poller->watch(here.get(), {.write = true}, 1));
    EXPECT_TRUE(poller->watch(listener.socket.get(), {.read = true}, 2));
    for (std::set<std::uint64_t> told; told.size() < 2;)
      for (const Poller::Ready& ready : ready_of(*poller)) told.insert(ready.tag);
    EXPECT_TRUE(is_connected(here.get()));
    there = FileDescriptor(static_cast<int>(::accept(listener.handle(), nullptr, nullptr)));
    EXPECT_TRUE(there.is_open());
  }
  void say() const { EXPECT_EQ(send_to_socket(there.get(), as_bytes("x")).bytes, 1U); }
  FileDescriptor here{}, there{};
};

TEST(Poller, TellsWhichSocketIsReadyForWhat) {
  const Listener listener;
  const Pair quiet(listener), busy(listener);
  const auto poller = *Poller::create();
  ASSERT_TRUE(poller->watch(quiet.here.get(), {.read = true}, 7));
  ASSERT_TRUE(poller->watch(busy.here.get(), {.read = true}, 8));
  EXPECT_TRUE(ready_of(*poller, std::chrono::milliseconds(-1)).empty())
      << "a time that has passed is not a wait";
  busy.say();
  const auto readable = ready_of(*poller);
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

TEST(Poller, OfManyNoneIsForgottenButThoseThatAreToBe) {
  const Listener listener;
  const auto poller = *Poller::create();
  std::vector<Pair> pairs;
  std::set<std::uint64_t> expected, seen;
  for (std::uint64_t i = 0; i < 100; ++i) {
    pairs.emplace_back(listener);
    ASSERT_TRUE(poller->watch(pairs.back().here.get(), {.read = true}, i));
    pairs.back().say();
    if (i % 3 != 0) expected.insert(i);
  }
  for (std::size_t i = 0; i < pairs.size(); i += 3) {
    poller->forget(pairs[i].here.get());
    poller->forget(pairs[i].here.get());
  }
  while (seen.size() < expected.size())
    for (const Poller::Ready& ready : ready_of(*poller)) seen.insert(ready.tag);
  EXPECT_EQ(seen, expected);
}

TEST(Poller, AWakeEndsOneWait) {
  const auto poller = *Poller::create();
  poller->wake();
  poller->wake();
  EXPECT_TRUE(ready_of(*poller).empty());
  EXPECT_TRUE(ready_of(*poller, std::chrono::milliseconds(0)).empty());
  std::jthread other([&] { poller->wake(); });
  EXPECT_TRUE(ready_of(*poller).empty());
}

TEST(Poller, ARefusedConnectionEndsTheWait) {
  const Listener listener;
  Listener closed;
  closed.socket = FileDescriptor();
  const FileDescriptor refused = closed.connect();
  const auto poller = *Poller::create();
  ASSERT_TRUE(poller->watch(refused.get(), {.write = true}, 1));
  EXPECT_EQ(ready_of(*poller).size(), 1U);
  EXPECT_FALSE(is_connected(refused.get()));
  const Status outcome = connect_outcome(refused.get());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Code::kUnavailable);
}

TEST(Socket, BytesAreSentAndReceivedOrWaitedForUntilTheEnd) {
  const Listener listener;
  Pair pair(listener);
  Bytes target(8);
  EXPECT_EQ(receive_from_socket(pair.here.get(), target).state, State::kWantRead);
  const Bytes much(1 << 20);
  IoAttempt sent = send_to_socket(pair.there.get(), much);
  EXPECT_EQ(sent.state, State::kDone);
  for (int i = 0; i < 1'000 && sent.state == State::kDone; ++i) sent = send_to_socket(pair.there.get(), much);
  EXPECT_EQ(sent.state, State::kWantWrite) << "a full one wants to be waited for";
  EXPECT_EQ(receive_from_socket(pair.here.get(), target).bytes, 8U);
  const auto second = duplicate(pair.here);
  ASSERT_TRUE(second);
  EXPECT_EQ(receive_from_socket(second->get(), target).bytes, 8U) << "of the same socket";
  Pair ended(listener);
  ended.there = FileDescriptor();
  const auto poller = *Poller::create();
  ASSERT_TRUE(poller->watch(ended.here.get(), {.read = true}, 1));
  EXPECT_TRUE(ready_of(*poller).at(0).readable);
  EXPECT_EQ(receive_from_socket(ended.here.get(), target).state, State::kEnd);
}

TEST(Socket, FailuresAreErrors) {
  Bytes target(1);
  EXPECT_EQ(receive_from_socket(-1, target).state, State::kFailed);
  EXPECT_EQ(send_to_socket(-1, target).state, State::kFailed);
  EXPECT_FALSE(is_connected(-1));
  EXPECT_FALSE(connect_outcome(-1));
  EXPECT_EQ(duplicate(FileDescriptor()).error().code, Code::kResourceExhausted);
  const auto unknown = resolve("no-such-host.invalid", 80);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kUnavailable);
  EXPECT_EQ(resolve("::1", 80)->front().is_ipv6(), true);
}

}  // namespace
}  // namespace headrace
