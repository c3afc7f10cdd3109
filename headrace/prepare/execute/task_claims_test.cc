#include "headrace/prepare/execute/task_claims.h"

#include <gtest/gtest.h>

#include "headrace/store/registry.h"

namespace headrace {
namespace {

using namespace std::chrono_literals;

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
