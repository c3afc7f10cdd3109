#include "headrace/net/host_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/os/thread_refusal_test.h"

namespace headrace {
namespace {

using testing::ElementsAre;

HostAddresses::Answer answer_of(HostAddresses& addresses) {
  while (true) {
    if (auto answer = addresses.of("host", 80)) return *std::move(answer);
    std::this_thread::yield();
  }
}

SocketAddress address_of(std::string_view text) { return resolve(std::string(text), 80)->front(); }

std::vector<std::string> names(const Result<std::vector<SocketAddress>>& found,
                               const std::vector<std::string>& known) {
  std::vector<std::string> out;
  EXPECT_TRUE(found) << found.error().message;
  for (const SocketAddress& address : found ? *found : std::vector<SocketAddress>())
    for (const std::string& name : known)
      if (address_of(name) == address) out.push_back(name);
  return out;
}

class Name {
 public:
  explicit Name(std::vector<std::string> known) : known_(std::move(known)) {}
  std::vector<std::string> next() { return names(answer_of(addresses), known_); }
  int asked() const { return asked_; }

 private:
  const std::vector<std::string> known_;
  int asked_ = 0;

 public:
  HostAddresses addresses{[this](const std::string&, std::uint16_t) -> Result<std::vector<SocketAddress>> {
    ++asked_;
    std::vector<SocketAddress> found;
    for (const std::string& name : known_) found.push_back(address_of(name));
    return found;
  }};
};

TEST(HostAddresses, OfThePreferredFamilyComeInTurnAndTheOthersBehind) {
  Name name({"10.0.0.1", "10.0.0.2", "10.0.0.3", "fd00::1", "fd00::2"});
  EXPECT_THAT(name.next(), ElementsAre("10.0.0.1", "10.0.0.2", "10.0.0.3", "fd00::1", "fd00::2"));
  EXPECT_THAT(name.next(), ElementsAre("10.0.0.2", "10.0.0.3", "10.0.0.1", "fd00::1", "fd00::2"));
  EXPECT_THAT(name.next(), ElementsAre("10.0.0.3", "10.0.0.1", "10.0.0.2", "fd00::1", "fd00::2"));
  EXPECT_THAT(name.next(), ElementsAre("10.0.0.1", "10.0.0.2", "10.0.0.3", "fd00::1", "fd00::2"));
  Name six({"fd00::1", "fd00::2", "10.0.0.1"});
  EXPECT_THAT(six.next(), ElementsAre("fd00::1", "fd00::2", "10.0.0.1"));
  EXPECT_THAT(six.next(), ElementsAre("fd00::2", "fd00::1", "10.0.0.1"));
}

TEST(HostAddresses, AreRememberedUntilOneFails) {
  Name name({"10.0.0.1", "10.0.0.2"});
  for (int i = 0; i < 5; ++i) name.next();
  EXPECT_EQ(name.asked(), 1);
  name.addresses.distrust("another", 80);
  name.next();
  EXPECT_EQ(name.asked(), 1);
  name.addresses.distrust("host", 80);
  name.next();
  EXPECT_EQ(name.asked(), 2);
}

// A resolver whose answers the test gives.
class SlowResolver {
 public:
  ~SlowResolver() { answer(Error{Code::kUnavailable, "the test is over"}); }
  HostAddresses::Answer operator()() {
    std::shared_future<HostAddresses::Answer> next;
    {
      const std::scoped_lock lock(mutex_);
      ++asked_;
      next = answer_;
    }
    return next.get();
  }
  void answer(HostAddresses::Answer given) {
    const std::scoped_lock lock(mutex_);
    promise_.set_value(std::move(given));
    promise_ = {};
    answer_ = promise_.get_future().share();
  }
  int asked() {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }

 private:
  std::mutex mutex_;
  int asked_ = 0;
  std::promise<HostAddresses::Answer> promise_;
  std::shared_future<HostAddresses::Answer> answer_ = promise_.get_future().share();
};

TEST(HostAddresses, NobodyWaitsForTheResolverAndItIsAskedOnceAtATime) {
  const auto resolver = std::make_shared<SlowResolver>();
  HostAddresses addresses([resolver](const std::string&, std::uint16_t) { return (*resolver)(); });
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(addresses.of("host", 80));
  while (resolver->asked() == 0) std::this_thread::yield();
  EXPECT_EQ(resolver->asked(), 1);
  resolver->answer(std::vector{address_of("10.0.0.1")});
  EXPECT_TRUE(answer_of(addresses));
  addresses.distrust("host", 80);
  EXPECT_FALSE(addresses.of("host", 80)) << "what has failed is not tried before the resolver has answered";
  while (resolver->asked() == 1) std::this_thread::yield();
  resolver->answer(Error{Code::kUnavailable, "no such host"});
  EXPECT_FALSE(answer_of(addresses));
}

TEST(HostAddresses, ANumberIsAskedForAtOnce) {
  std::thread::id asked_by;
  HostAddresses addresses([&](const std::string& host, std::uint16_t) -> HostAddresses::Answer {
    asked_by = std::this_thread::get_id();
    if (host == "10.0.0.1") return Error{Code::kUnavailable, "nobody is there"};
    return std::vector{address_of("10.0.0.1")};
  });
  for (const char* number : {"10.0.0.2", "::1", "fd00::7"}) {
    asked_by = {};
    const auto answer = addresses.of(number, 80);
    ASSERT_TRUE(answer) << number;
    EXPECT_TRUE(*answer);
    EXPECT_EQ(asked_by, std::this_thread::get_id());
  }
  const auto refused = addresses.of("10.0.0.1", 80);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->error().message, "nobody is there");
}

TEST(HostAddresses, AfterAnErrorTheResolverIsAskedAgain) {
  int asked = 0;
  HostAddresses addresses([&](const std::string&, std::uint16_t) -> HostAddresses::Answer {
    if (++asked == 1) return Error{Code::kUnavailable, "not yet"};
    return std::vector{address_of("10.0.0.1")};
  });
  EXPECT_FALSE(answer_of(addresses));
  EXPECT_TRUE(answer_of(addresses));
  EXPECT_TRUE(answer_of(addresses));
  EXPECT_EQ(asked, 2);
}

TEST(HostAddresses, WithoutAThreadToSpareTheCallersAsks) {
  std::thread::id asked_by;
  HostAddresses addresses([&](const std::string& host, std::uint16_t port) -> HostAddresses::Answer {
    asked_by = std::this_thread::get_id();
    EXPECT_EQ(host, "host");
    EXPECT_EQ(port, 80);
    return std::vector{address_of("10.0.0.1")};
  });
  const auto answer = [&] {
    const ThreadRefusal refusal;
    return addresses.of("host", 80);
  }();
  ASSERT_TRUE(answer);
  EXPECT_EQ((*answer)->size(), 1U);
  EXPECT_EQ(asked_by, std::this_thread::get_id());
}

}  // namespace
}  // namespace headrace
