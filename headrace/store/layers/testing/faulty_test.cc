#include "headrace/store/layers/testing/faulty.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using testing::HasSubstr;

class FaultyStoreTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(memory->write("a", Bytes(1000), {})); }
  std::unique_ptr<Store> faulty(const FaultOptions& options) {
    account = std::make_shared<FaultAccount>();
    return make_faulty(memory, options, account);
  }
  // The first call meets this.
  std::unique_ptr<Store> with(Fault fault, FaultOptions options = {}) {
    options.only_call = 1;
    options.faults = {fault};
    return faulty(options);
  }
  const std::shared_ptr<Store> memory = make_memory_store("test");
  std::shared_ptr<FaultAccount> account;
};

TEST_F(FaultyStoreTest, TheCallThatIsNamedFailsAndNoOther) {
  const auto store = faulty({.only_call = 3, .code = Code::kPermissionDenied});
  EXPECT_TRUE(store->stat("a", {}));
  EXPECT_TRUE(write_text(*store, "b", "x"));
  const auto third = write_text(*store, "c", "x");
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, Code::kPermissionDenied);
  EXPECT_THAT(third.error().message, HasSubstr("injected fault in call 3, write of memory://test/c"));
  EXPECT_FALSE(memory->stat("c", {}));
  EXPECT_TRUE(write_text(*store, "c", "x"));
  const auto faults = account->faults();
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].call, 3U);
  EXPECT_EQ(faults[0].operation, StoreOperation::kWrite);
  EXPECT_EQ(faults[0].key, "c");
  EXPECT_EQ(faults[0].fault, Fault::kRefuse);
}

TEST_F(FaultyStoreTest, ALostAnswerComesAfterTheEffect) {
  EXPECT_FALSE(write_text(*with(Fault::kLoseAnswer), "b", "x"));
  EXPECT_TRUE(memory->stat("b", {}));
}

TEST_F(FaultyStoreTest, ACutReadHasItsBeginningAndIsAnError) {
  Bytes target(1000, std::byte{7});
  const auto read = with(Fault::kCutRead, {.seed = 5})->read_into("a", target, {});
  ASSERT_FALSE(read);
  const auto cut = std::find_if(target.begin(), target.end(), [](std::byte b) { return b != std::byte{0}; });
  EXPECT_NE(cut, target.begin());
  EXPECT_NE(cut, target.end());
  EXPECT_EQ(std::find(cut, target.end(), std::byte{0}), target.end());
}

TEST_F(FaultyStoreTest, ACorruptReadHasOneOtherBitAndIsNoError) {
  for (const bool many : {false, true}) {
    Bytes target(1000, std::byte{7});
    const auto store = with(Fault::kCorruptRead);
    const std::vector<ReadRequest> two = {{"a", 0, MutableBytesView(target).first(300)},
                                          {"a", 300, MutableBytesView(target).subspan(300)}};
    if (many) {
      ASSERT_TRUE(store->read_many(two, {}));
    } else {
      ASSERT_TRUE(store->read_into("a", target, {}));
    }
    int bits = 0;
    for (const std::byte b : target) bits += std::popcount(static_cast<unsigned>(b));
    EXPECT_EQ(bits, 1);
  }
}

TEST_F(FaultyStoreTest, AStallOutlastsTheDeadlineOrIsOnlyAPause) {
  const auto too_long = with(Fault::kStall, {.stall = hours(1)})->stat("a", {.deadline = milliseconds(1)});
  EXPECT_EQ(too_long.error().code, Code::kDeadlineExceeded);
  EXPECT_TRUE(with(Fault::kStall, {.stall = milliseconds(1)})->stat("a", {}));
  EXPECT_EQ(account->faults().size(), 1U);
  std::stop_source source;
  source.request_stop();
  const auto stopped =
      with(Fault::kStall, {.stall = hours(1)})->stat("a", {.deadline = hours(2), .stop = source.get_token()});
  EXPECT_EQ(stopped.error().code, Code::kCancelled);
}

TEST_F(FaultyStoreTest, TheSameSeedGivesTheSameFaults) {
  const auto faults_of = [&](std::uint64_t seed) {
    const auto store = faulty({.rate = 0.2, .faults = {Fault::kRefuse, Fault::kLoseAnswer}, .seed = seed});
    std::string failed;
    for (int i = 0; i < 1000; ++i) failed += store->stat("a", {}) ? '.' : 'x';
    std::string accounted(1000, '.');
    for (const InjectedFault& fault : account->faults()) accounted[fault.call - 1] = 'x';
    EXPECT_EQ(accounted, failed) << "all that happened is accounted for";
    return failed;
  };
  const std::string first = faults_of(1);
  EXPECT_NEAR(static_cast<double>(std::count(first.begin(), first.end(), 'x')), 200, 60);
  EXPECT_EQ(faults_of(1), first);
  EXPECT_NE(faults_of(2), first);
}

}  // namespace
}  // namespace headrace
