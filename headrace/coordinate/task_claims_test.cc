#include "headrace/coordinate/task_claims.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "headrace/store/layers/forwarding.h"
#include "headrace/store/registry.h"

namespace headrace {
namespace {

using namespace std::chrono_literals;

// Calls `after_stat` once, between the answer to a stat and its return.
class InterruptedStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    auto object = inner().stat(key, options);
    if (after_stat) std::exchange(after_stat, nullptr)();
    return object;
  }
  std::function<void()> after_stat;
};

class TaskClaimsTest : public testing::Test {
 protected:
  std::unique_ptr<TaskClaims> leases(const std::string& holder, const LeaseOptions& options = {}) {
    return claim_by_lease(*stores.open("memory://leases/work"), holder, options);
  }
  StoreRegistry stores{Environment{}};
};

TEST_F(TaskClaimsTest, EachTaskBelongsToOneRank) {
  const auto first = claim_by_rank(0, 3), last = claim_by_rank(2, 3);
  EXPECT_TRUE(*first->claim(0));
  EXPECT_TRUE(*first->claim(3));
  EXPECT_FALSE(*first->claim(2));
  EXPECT_TRUE(*last->claim(5));
}

TEST_F(TaskClaimsTest, ALeaseIsOneHoldersUntilItIsGivenBack) {
  const auto a = leases("a"), b = leases("b");
  EXPECT_TRUE(*a->claim(7));
  EXPECT_FALSE(*b->claim(7));
  EXPECT_TRUE(*b->claim(8));
  a->release(7);
  EXPECT_TRUE(*b->claim(7));
}

TEST_F(TaskClaimsTest, ALeaseThatStandsStillIsTakenOver) {
  const auto dead = leases("dead", {.renewed_each = 1h});
  ASSERT_TRUE(*dead->claim(1));
  const auto patient = leases("patient", {.stale_after = 1h});
  EXPECT_FALSE(*patient->claim(1));
  EXPECT_FALSE(*patient->claim(1));
  const auto heir = leases("heir", {.stale_after = 0ms});
  EXPECT_TRUE(*heir->claim(1));
  // A process that lost its lease does not release the new holder's.
  dead->release(1);
  const auto third = leases("third");
  EXPECT_FALSE(*third->claim(1));
}

TEST_F(TaskClaimsTest, OfTwoProcessesThatSeeAStaleLeaseOneTakesItOver) {
  const auto dead = leases("dead", {.renewed_each = 1h});
  ASSERT_TRUE(*dead->claim(1));
  const LeaseOptions impatient{.renewed_each = 1h, .stale_after = 0ms};
  Location folder = *stores.open("memory://leases/work");
  const auto interrupted = std::make_shared<InterruptedStore>(folder.store);
  folder.store = interrupted;
  const auto slow = claim_by_lease(folder, "slow", impatient);
  const auto fast = leases("fast", impatient);
  bool fast_has_it = false;
  interrupted->after_stat = [&] { fast_has_it = *fast->claim(1); };
  EXPECT_FALSE(*slow->claim(1));
  EXPECT_TRUE(fast_has_it);
  const Location object = *stores.open("memory://leases/work/lease-00001");
  EXPECT_EQ(to_string(read_object(*object.store, object.key, 1'000)->data), "fast 0\n");
}

TEST_F(TaskClaimsTest, ALeaseThatIsRenewedIsAnothersLease) {
  const auto busy = leases("busy", {.renewed_each = 1ms});
  ASSERT_TRUE(*busy->claim(1));
  const Location object = *stores.open("memory://leases/work/lease-00001");
  const auto before = object.store->stat(object.key, {});
  ASSERT_TRUE(before);
  while (object.store->stat(object.key, {})->version == before->version) {
  }
  busy->release(1);
  EXPECT_EQ(object.store->stat(object.key, {}).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace headrace
