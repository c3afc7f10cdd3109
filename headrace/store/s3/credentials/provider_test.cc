#include "headrace/store/s3/credentials/provider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/store/s3/credentials/test_credentials.h"

namespace headrace {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::system_clock;
using testing::AllOf;
using testing::HasSubstr;
using testing::Pair;

// A source whose keys are numbered and live for `lifetime`, under a clock of the test's.
class Credentials : public testing::Test {
 protected:
  std::string id() {
    const auto keys = provider.get({});
    return keys ? (*keys)->access_key_id : keys.error().message;
  }
  // The ids for a thread that fetches, and for another that waits for it meanwhile.
  std::pair<std::string, std::string> ids_of_two() {
    std::pair<std::string, std::string> ids;
    std::atomic<bool> is_fetching = false;
    during_fetch = [&] {
      const int before = clock_reads;
      if (is_fetching.exchange(true)) return;
      is_fetching.notify_all();
      clock_reads.wait(before);  // the other one holds the mutex now, until it waits
    };
    std::jthread first([&] { ids.first = id(); });
    is_fetching.wait(false);
    ids.second = id();
    first.join();
    return ids;
  }

  system_clock::time_point now = system_clock::time_point(seconds(1'800'000'000));
  std::optional<seconds> lifetime = seconds(3'600);
  std::optional<Error> failure;
  std::atomic<int> fetches = 0;
  std::atomic<int> clock_reads = 0;
  std::function<void()> during_fetch = [] {};
  std::chrono::milliseconds last_patience{0};
  CredentialsProvider provider{{.name = "the test",
                                .fetch = [this](const FetchLimits& limits) -> Result<S3Credentials> {
                                  last_patience = limits.patience;
                                  const int number = ++fetches;
                                  during_fetch();
                                  if (failure) return *failure;
                                  S3Credentials keys{concat("id-", number), "secret"};
                                  if (lifetime) keys.expires = now + *lifetime;
                                  return keys;
                                }},
                               [this] {
                                 ++clock_reads;
                                 clock_reads.notify_all();
                                 return now;
                               }};
};

TEST_F(Credentials, AreFetchedAtFirstUseAndKept) {
  EXPECT_EQ(fetches, 0);
  EXPECT_EQ(id(), "id-1");
  now += minutes(50);
  EXPECT_EQ(id(), "id-1");
}

TEST_F(Credentials, WithoutAnEndAreFetchedOnce) {
  lifetime.reset();
  EXPECT_EQ(id(), "id-1");
  now += std::chrono::hours(10'000);
  EXPECT_EQ(id(), "id-1");
}

TEST_F(Credentials, AreRenewedMinutesBeforeTheyExpire) {
  EXPECT_EQ(id(), "id-1");
  now += minutes(53);
  EXPECT_EQ(id(), "id-1");
  now += minutes(2);
  EXPECT_EQ(id(), "id-2");
  EXPECT_LT(last_patience, FetchLimits().patience) << "ahead of time, requests wait less for it";
}

TEST_F(Credentials, OfAShortLifeAreUsedForHalfOfIt) {
  lifetime = minutes(4);
  EXPECT_EQ(id(), "id-1");
  now += seconds(119);
  EXPECT_EQ(id(), "id-1");
  now += seconds(2);
  EXPECT_EQ(id(), "id-2");
}

TEST_F(Credentials, ThatAreStillGoodServeWhenTheRenewalFails) {
  EXPECT_EQ(id(), "id-1");
  failure = Error{Code::kUnavailable, "no answer"};
  now += minutes(56);
  EXPECT_EQ(id(), "id-1");
  EXPECT_EQ(id(), "id-1");
  EXPECT_EQ(fetches, 2) << "it is not tried for each request";
  now += seconds(31);
  EXPECT_EQ(id(), "id-1");
  EXPECT_EQ(fetches, 3);
  now += minutes(4);
  EXPECT_THAT(id(), AllOf(HasSubstr("the test"), HasSubstr("no answer")));
  failure.reset();
  EXPECT_EQ(id(), "id-5");
}

TEST_F(Credentials, ThatThisClockTakesForExpiredAreUsedAllTheSame) {
  lifetime = -minutes(90);
  EXPECT_EQ(id(), "id-1");
  EXPECT_EQ(id(), "id-1");
}

TEST_F(Credentials, ThatWereRefusedAreFetchedAnewOnceForAllWhoHadThem) {
  const auto first = *provider.get({});
  now += seconds(31);
  EXPECT_TRUE(provider.refuse(first));
  EXPECT_EQ(id(), "id-2");
  EXPECT_TRUE(provider.refuse(first));
  EXPECT_EQ(id(), "id-2");
}

TEST_F(Credentials, ThatHaveJustBeenFetchedAreNotFetchedAnewSinceTheyAreRefused) {
  const auto first = *provider.get({});
  now += seconds(29);
  EXPECT_FALSE(provider.refuse(first));
  EXPECT_EQ(id(), "id-1");
  EXPECT_EQ(fetches, 1);
}

TEST_F(Credentials, ThatNeverChangeAreNotAskedForAgain) {
  const auto fixed = fixed_credentials({"id", "secret"});
  EXPECT_FALSE(fixed->refuse(*fixed->get({})));
}

TEST_F(Credentials, AreFetchedByOneThreadForAll) {
  std::latch all_started(8);
  during_fetch = [&] { all_started.arrive_and_wait(); };  // the seven others ask meanwhile
  std::vector<std::jthread> threads;
  std::atomic<int> good = 0;
  threads.emplace_back([&] { good += id() == "id-1"; });
  for (int i = 0; i < 7; ++i) {
    threads.emplace_back([&] {
      all_started.arrive_and_wait();
      good += id() == "id-1";
    });
  }
  threads.clear();
  EXPECT_EQ(good, 8);
  EXPECT_EQ(fetches, 1);
}

TEST_F(Credentials, WhileOneThreadRenewsThemServeTheOthers) {
  EXPECT_EQ(id(), "id-1");
  now += minutes(56);
  std::string meanwhile;
  during_fetch = [&] { meanwhile = id(); };
  EXPECT_EQ(id(), "id-2");
  EXPECT_EQ(meanwhile, "id-1");
}

TEST_F(Credentials, WaitNoLongerThanTheirCallerWants) {
  std::latch fetching(1), stopped(1);
  during_fetch = [&] {
    fetching.count_down();
    stopped.wait();
  };
  std::jthread first([&] { EXPECT_EQ(id(), "id-1"); });
  fetching.wait();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(provider.get(stop.get_token()).error().code, Code::kCancelled);
  stopped.count_down();
}

TEST_F(Credentials, AreRenewedFiveToSixMinutesBeforeTheyExpire) {
  for (int i = 0; i < 32; ++i) {
    now += std::chrono::hours(2);
    const std::string first = id();
    now += minutes(54);
    EXPECT_FALSE(provider.may_wait());
    EXPECT_EQ(id(), first);
    now += minutes(1);
    EXPECT_TRUE(provider.may_wait());
    EXPECT_NE(id(), first);
  }
}

TEST_F(Credentials, MayHaveToBeWaitedForBeforeTheFirstFetchAndFromTheMomentOfRenewal) {
  lifetime = minutes(4);  // renewed after half of it, without jitter
  EXPECT_TRUE(provider.may_wait());
  EXPECT_EQ(id(), "id-1");
  now += seconds(119);
  EXPECT_FALSE(provider.may_wait());
  now += seconds(1);
  EXPECT_TRUE(provider.may_wait());
  during_fetch = [&] { EXPECT_FALSE(provider.may_wait()) << "another thread renews them"; };
  EXPECT_EQ(id(), "id-2");
  EXPECT_FALSE(provider.may_wait());
  now += minutes(4);
  during_fetch = [&] { EXPECT_TRUE(provider.may_wait()) << "they have expired"; };
  EXPECT_EQ(id(), "id-3");
}

TEST_F(Credentials, AtHandAreThoseThatAreValid) {
  const auto none = provider.at_hand();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kUnauthenticated);
  EXPECT_THAT(none.error().message, HasSubstr("the test"));
  EXPECT_EQ(fetches, 0);
  EXPECT_EQ(id(), "id-1");
  now += minutes(60) - seconds(1);
  ASSERT_TRUE(provider.at_hand());
  EXPECT_EQ((*provider.at_hand())->access_key_id, "id-1");
  now += seconds(1);
  EXPECT_FALSE(provider.at_hand());
  EXPECT_EQ(fetches, 1);
}

TEST_F(Credentials, ThatComeExpiredAreFetchedAgainAfterAMinute) {
  lifetime = -minutes(90);
  EXPECT_EQ(id(), "id-1");
  now += seconds(29);
  EXPECT_EQ(id(), "id-1");
  now += seconds(31);
  EXPECT_FALSE(provider.at_hand());
  EXPECT_EQ(id(), "id-2");
}

TEST_F(Credentials, OfASourceThatThrowsAreAnErrorLikeAnyOther) {
  during_fetch = [] { throw std::runtime_error("broken"); };
  const auto keys = provider.get({});
  ASSERT_FALSE(keys);
  EXPECT_EQ(keys.error().code, Code::kInternal);
  EXPECT_THAT(keys.error().message, AllOf(HasSubstr("the test"), HasSubstr("broken")));
}

TEST_F(Credentials, AreFetchedWithTheCallersLimits) {
  std::stop_source stop;
  std::stop_token passed;
  CredentialsProvider asked({.name = "limits",
                             .fetch = [&](const FetchLimits& limits) -> Result<S3Credentials> {
                               passed = limits.stop;
                               last_patience = limits.patience;
                               return S3Credentials{"id", "secret"};
                             }},
                            [this] { return now; });
  ASSERT_TRUE(asked.get(stop.get_token()));
  EXPECT_EQ(passed, stop.get_token());
  EXPECT_EQ(last_patience, FetchLimits().patience);
}

TEST_F(Credentials, ThatCannotBeFetchedAreTheSameErrorForAllWhoWait) {
  failure = Error{Code::kUnavailable, "no answer"};
  const auto [fetching, waiting] = ids_of_two();
  EXPECT_THAT(fetching, HasSubstr("no answer"));
  EXPECT_EQ(waiting, fetching);
  EXPECT_EQ(fetches, 1);
  failure.reset();
  EXPECT_THAT(ids_of_two(), Pair("id-2", "id-2")) << "the failure before is forgotten";
}

TEST_F(Credentials, ThatACallerStoppedFetchingAreFetchedByTheNext) {
  failure = Error{Code::kCancelled, "stopped"};
  const auto [fetching, waiting] = ids_of_two();
  EXPECT_THAT(fetching, HasSubstr("stopped"));
  EXPECT_EQ(fetches, 2) << "that caller's stop is not the other's";
}

TEST_F(Credentials, AreFetchedAnewFromThirtySecondsOn) {
  const auto first = *provider.get({});
  EXPECT_FALSE(provider.refuse(first));
  now += seconds(30);
  EXPECT_TRUE(provider.refuse(first));
  now -= seconds(10);
  EXPECT_TRUE(provider.refuse(first)) << "once refused, they stay so";
  EXPECT_FALSE(provider.at_hand());
}

TEST_F(Credentials, OfAClockThatWentBackAreNotNew) {
  const auto first = *provider.get({});
  now -= seconds(1);
  EXPECT_TRUE(provider.refuse(first));
}

}  // namespace
}  // namespace headrace
