#include "headrace/coordinate/task_claims.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
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

// A store that cannot replace one version only, or fails to write.
class LesserStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    if (stat_failure) return Error{*stat_failure, "stat"};
    return inner().stat(key, options);
  }
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    EXPECT_TRUE(has_versions || !options.if_version);
    const bool is_takeover = has_versions ? options.if_version.has_value() : was_removed;
    if (write_failure && is_takeover) return Error{*write_failure, "write"};
    return inner().write(key, data, options);
  }
  Status remove_many(std::span<const std::string> keys, const CallOptions& options) override {
    was_removed = true;
    Status removed = inner().remove_many(keys, options);
    if (after_removal) std::exchange(after_removal, nullptr)();
    return removed;
  }
  Capabilities capabilities() const override {
    Capabilities capabilities = inner().capabilities();
    capabilities.atomic_if_version = has_versions;
    return capabilities;
  }
  bool has_versions = true;
  bool was_removed = false;
  std::function<void()> after_removal;
  std::optional<Code> stat_failure, write_failure;
};

class TaskClaimsTest : public testing::Test {
 protected:
  std::unique_ptr<TaskClaims> leases(const std::string& holder, const LeaseOptions& options = {}) {
    return claim_by_lease(*stores.open("memory://leases/work"), holder, options);
  }
  std::string lease(const std::string& name = "lease-00001") {
    const Location object = *stores.open("memory://leases/work/" + name);
    const auto read = read_object(*object.store, object.key, 1'000);
    return read ? to_string(read->data) : "none";
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

TEST_F(TaskClaimsTest, ALeaseIsAnObjectThatNamesItsHolder) {
  const auto holder = leases("node-3", {.renewed_each = 1h});
  ASSERT_TRUE(*holder->claim(7));
  EXPECT_EQ(lease("lease-00007"), "node-3 0\n");
  holder->release(8);
  EXPECT_EQ(lease("lease-00007"), "node-3 0\n") << "another task was released";
  holder->release(7);
  EXPECT_EQ(lease("lease-00007"), "none");
  holder->release(7);
}

TEST_F(TaskClaimsTest, ALeaseIsStaleOnceItHasNotChangedForTheWholeTime) {
  const auto dead = leases("dead", {.renewed_each = 1h});
  ASSERT_TRUE(*dead->claim(1));
  auto now = std::chrono::steady_clock::time_point(1h);
  const auto heir = leases("heir", {.renewed_each = 1h, .stale_after = 60s, .now = [&] { return now; }});
  EXPECT_FALSE(*heir->claim(1));
  now += 59s;
  EXPECT_FALSE(*heir->claim(1));
  const Location object = *stores.open("memory://leases/work/lease-00001");
  ASSERT_TRUE(write_text(*object.store, object.key, "dead 1\n"));
  now += 1s;
  EXPECT_FALSE(*heir->claim(1)) << "it was renewed";
  now += 59s;
  EXPECT_FALSE(*heir->claim(1));
  now += 1s;
  EXPECT_TRUE(*heir->claim(1));
  EXPECT_EQ(lease(), "heir 0\n");
  dead->release(1);
  EXPECT_EQ(lease(), "heir 0\n") << "it is another's lease now";
}

TEST_F(TaskClaimsTest, AStaleLeaseIsReplacedInAStoreWithoutVersionsToo) {
  const auto dead = leases("dead", {.renewed_each = 1h});
  ASSERT_TRUE(*dead->claim(1));
  Location folder = *stores.open("memory://leases/work");
  const auto store = std::make_shared<LesserStore>(folder.store);
  store->has_versions = false;
  folder.store = store;
  const auto heir = claim_by_lease(folder, "heir", {.renewed_each = 1h, .stale_after = 0ms});
  EXPECT_TRUE(*heir->claim(1));
  EXPECT_TRUE(store->was_removed);
  EXPECT_EQ(lease(), "heir 0\n");
}

TEST_F(TaskClaimsTest, OfTwoProcessesThatReplaceAStaleLeaseWithoutVersionsOneHasIt) {
  const auto dead = leases("dead", {.renewed_each = 1h});
  ASSERT_TRUE(*dead->claim(1));
  Location folder = *stores.open("memory://leases/work");
  const auto store = std::make_shared<LesserStore>(folder.store);
  store->has_versions = false;
  folder.store = store;
  const auto slow = claim_by_lease(folder, "slow", {.renewed_each = 1h, .stale_after = 0ms});
  const auto fast = leases("fast", {.renewed_each = 1h});
  bool fast_has_it = false;
  store->after_removal = [&] { fast_has_it = *fast->claim(1); };
  EXPECT_FALSE(*slow->claim(1));
  EXPECT_TRUE(fast_has_it);
  EXPECT_EQ(lease(), "fast 0\n");
}

TEST_F(TaskClaimsTest, OnlyTheErrorsOfALostRaceMeanThatAnotherHasTheLease) {
  const auto dead = leases("dead", {.renewed_each = 1h});
  ASSERT_TRUE(*dead->claim(1));
  Location folder = *stores.open("memory://leases/work");
  const auto store = std::make_shared<LesserStore>(folder.store);
  folder.store = store;
  const auto claims = claim_by_lease(folder, "late", {.renewed_each = 1h, .stale_after = 0ms});
  for (const Code code : {Code::kFailedPrecondition, Code::kAlreadyExists, Code::kNotFound}) {
    store->write_failure = code;
    const auto claimed = claims->claim(1);
    ASSERT_TRUE(claimed) << claimed.error().message;
    EXPECT_FALSE(*claimed);
  }
  store->write_failure = Code::kUnavailable;
  EXPECT_EQ(claims->claim(1).error().code, Code::kUnavailable);
  store->write_failure.reset();
  store->stat_failure = Code::kUnavailable;
  EXPECT_EQ(claims->claim(1).error().code, Code::kUnavailable);
  store->stat_failure = Code::kNotFound;
  EXPECT_FALSE(*claims->claim(1)) << "it was given back meanwhile";
  EXPECT_EQ(lease(), "dead 0\n");
}

}  // namespace
}  // namespace headrace
