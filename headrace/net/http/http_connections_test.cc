#include "headrace/net/http/http_connections.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <vector>

namespace headrace {
namespace {

using std::chrono::milliseconds;

const HttpEndpoint kFirst{.tls = false, .host = "one.example", .port = 80};
const HttpEndpoint kSecond{.tls = false, .host = "two.example", .port = 80};

// Gives a place a connection; returns the other end of it.
FileDescriptor connect(HttpConnections::Place& place) {
  std::array<int, 2> both{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, both.data()), 0);
  place.connection = std::make_unique<HttpConnection>();
  place.connection->stream = plain_stream(FileDescriptor(both[0]));
  return FileDescriptor(both[1]);
}

bool is_closed(const FileDescriptor& other_end) {
  char byte = 0;
  return ::recv(other_end.get(), &byte, 1, 0) == 0;
}

TEST(HttpConnections, KeptOnesAreTakenNewestFirstAndByTheirEndpoint) {
  HttpConnections connections({});
  const auto poller = *Poller::create();
  std::array<FileDescriptor, 2> ends;
  {
    auto older = connections.try_take(kFirst, poller.get()),
         newer = connections.try_take(kFirst, poller.get());
    ends[0] = connect(*older), ends[1] = connect(*newer);
    older.reset();
  }
  const auto other = connections.try_take(kSecond, poller.get());
  EXPECT_EQ(other->connection, nullptr);
  HttpEndpoint tls = kFirst;
  tls.tls = true;
  EXPECT_EQ(connections.try_take(tls, poller.get())->connection, nullptr);
  const auto newest = connections.try_take(kFirst, poller.get());
  ASSERT_NE(newest->connection, nullptr);
  EXPECT_EQ(::send(ends[1].get(), "x", 1, 0), 1);
  EXPECT_FALSE(newest->connection->is_quiet());
  const auto next = connections.try_take(kFirst, poller.get());
  ASSERT_NE(next->connection, nullptr);
  EXPECT_EQ(connections.try_take(kFirst, poller.get())->connection, nullptr) << "none is left";
  EXPECT_FALSE(is_closed(ends[0]));
}

TEST(HttpConnections, TheOldestIdleOneMakesRoom) {
  HttpConnections connections({.max_connections = 2});
  const auto poller = *Poller::create();
  std::array<FileDescriptor, 2> ends;
  for (FileDescriptor& end : ends) {
    auto place = connections.try_take_another(kFirst);
    ASSERT_TRUE(place);
    end = connect(*place);
  }
  const auto one = connections.try_take(kSecond, poller.get());
  ASSERT_TRUE(one);
  EXPECT_TRUE(is_closed(ends[0]));
  EXPECT_FALSE(is_closed(ends[1]));
  const auto two = connections.try_take_another(kSecond);
  ASSERT_TRUE(two);
  EXPECT_TRUE(is_closed(ends[1]));
  EXPECT_FALSE(connections.try_take_another(kSecond)) << "there are as many as there may be";
  EXPECT_FALSE(connections.try_take(kFirst, poller.get()));
  EXPECT_EQ(connections.governor(kSecond).counters().requests, 1U) << "a second one is not the governor's";
}

TEST(HttpConnections, IdleOnesAreClosedAfterTheirTime) {
  HttpConnections forgetful({.idle_timeout = milliseconds(-1)}),
      patient({.idle_timeout = std::chrono::hours(1)});
  const auto poller = *Poller::create();
  for (HttpConnections* connections : {&forgetful, &patient}) {
    auto place = connections->try_take(kFirst, poller.get());
    const FileDescriptor end = connect(*place);
    place.reset();
    EXPECT_EQ(is_closed(end), connections == &forgetful);
    EXPECT_EQ(connections->try_take(kFirst, poller.get())->connection == nullptr, connections == &forgetful);
  }
}

TEST(HttpConnections, PlacesAreGivenInTheOrderOfTheQueue) {
  HttpConnections connections({.max_connections = 1});
  const auto holder = *Poller::create(), first = *Poller::create(), second = *Poller::create();
  auto place = connections.try_take(kFirst, holder.get());
  ASSERT_TRUE(place);
  EXPECT_TRUE(place->is_last());
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(connections.try_take(kFirst, first.get()));
  EXPECT_FALSE(connections.try_take(kFirst, second.get()));
  EXPECT_EQ(connections.places_given_back(), 0U);
  place.reset();
  EXPECT_EQ(connections.places_given_back(), 1U);
  EXPECT_FALSE(connections.try_take(kFirst, second.get())) << "it is not its turn";
  EXPECT_TRUE(connections.try_take(kFirst, first.get()));
  EXPECT_FALSE(connections.try_take(kFirst, holder.get())) << "another waits";
  connections.withdraw(second.get());
  EXPECT_TRUE(connections.try_take(kFirst, holder.get())) << "nobody waits any more";
}

TEST(HttpConnections, WhoIsFirstInTheQueueIsWokenByAPlaceAndByAWithdrawal) {
  HttpConnections connections({.max_connections = 1});
  const auto holder = *Poller::create(), first = *Poller::create(), second = *Poller::create();
  auto place = connections.try_take(kFirst, holder.get());
  EXPECT_FALSE(connections.try_take(kFirst, first.get()));
  EXPECT_FALSE(connections.try_take(kFirst, second.get()));
  place.reset();
  ASSERT_TRUE(first->wait(std::chrono::hours(1))) << "it was woken";
  connections.withdraw(first.get());
  ASSERT_TRUE(second->wait(std::chrono::hours(1))) << "it was woken";
  EXPECT_FALSE(connections.try_take(kFirst, first.get())) << "it is behind the other now";
  const auto taken = connections.try_take(kFirst, second.get());
  ASSERT_TRUE(taken);
  ASSERT_TRUE(first->wait(std::chrono::hours(1))) << "there might have been room for two";
}

TEST(HttpConnections, APlaceMayBeMoved) {
  HttpConnections connections({.max_connections = 1});
  const auto poller = *Poller::create();
  {
    auto place = connections.try_take(kFirst, poller.get());
    const FileDescriptor end = connect(*place);
    const HttpConnections::Place moved = *std::move(place);
    EXPECT_TRUE(moved.is_last());
    EXPECT_NE(moved.connection, nullptr);
    place.reset();
    EXPECT_EQ(connections.places_given_back(), 0U);
  }
  EXPECT_EQ(connections.places_given_back(), 1U);
  EXPECT_NE(connections.try_take(kFirst, poller.get())->connection, nullptr);
}

TEST(HttpConnections, PollersAreUsedAgain) {
  HttpConnections connections({});
  auto poller = *connections.take_poller();
  const Poller* const kept = poller.get();
  connections.keep(std::move(poller));
  const auto again = *connections.take_poller();
  EXPECT_EQ(again.get(), kept);
  EXPECT_NE((*connections.take_poller()).get(), kept);
}

TEST(HttpConnections, OneThatWasIdleForTooLongIsClosedRatherThanUsed) {
  HttpConnections connections({.idle_timeout = milliseconds(20)});
  const auto poller = *Poller::create();
  auto place = connections.try_take(kFirst, poller.get());
  const FileDescriptor end = connect(*place);
  place.reset();
  ASSERT_TRUE(poller->wait(milliseconds(25)));
  const auto other = connections.try_take(kSecond, poller.get());
  EXPECT_TRUE(is_closed(end));
  EXPECT_EQ(connections.try_take(kFirst, poller.get())->connection, nullptr);
}

}  // namespace
}  // namespace headrace
