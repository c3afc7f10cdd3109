// Every layer around drivers of two kinds, through the conformance suite.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/store/conformance.h"
#include "headrace/store/file/file_store.h"
#include "headrace/store/layers/cached.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/layers/metered.h"
#include "headrace/store/layers/stoppable.h"
#include "headrace/store/layers/testing/faulty.h"
#include "headrace/store/layers/testing/stalling.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/scratch_folder_test.h"

namespace headrace {
namespace {

using Inner = std::shared_ptr<Store>;
using Layer = std::unique_ptr<Store> (*)(Inner);

auto* const scratch = dynamic_cast<ScratchFolder*>(testing::AddGlobalTestEnvironment(new ScratchFolder));

std::unique_ptr<Store> metered(Inner inner) {
  return make_metered(std::move(inner), std::make_shared<StoreMetrics>());
}
std::unique_ptr<Store> faultless(Inner inner) {
  return make_faulty(std::move(inner), {}, std::make_shared<FaultAccount>());
}
std::unique_ptr<Store> never_stalled(Inner inner) {
  return make_stalling(std::move(inner), std::make_shared<StallControl>(StallOptions{}));
}
std::unique_ptr<Store> cached(Inner inner) {
  return make_cached(std::move(inner), {make_memory_store("near"), "cache", {}}, {});
}
std::unique_ptr<Store> stoppable(Inner inner) {
  return make_stoppable(std::move(inner), std::stop_source().get_token());
}

constexpr std::pair<const char*, Layer> kLayers[] = {{"metered", metered},
                                                     {"faultless", faultless},
                                                     {"never_stalled", never_stalled},
                                                     {"cached", cached},
                                                     {"stoppable", stoppable}};

std::vector<DriverUnderTest> all_layers() {
  std::vector<DriverUnderTest> all;
  for (const auto& [name, layer] : kLayers) {
    all.push_back({.name = concat(name, "_memory"),
                   .open_empty = [layer = layer] { return layer(make_memory_store("test")); }});
    all.push_back({.name = concat(name, "_file"),
                   .open_empty = [layer = layer] { return layer(make_file_store(scratch->new_root())); }});
  }
  return all;
}

TEST(Layers, TellWhatTheDriverCounts) {
  class CountingStore final : public ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    std::vector<StoreCounter> counters() const override { return {{.name = "requests", .value = 7}}; }
  };
  for (const auto& [name, layer] : kLayers) {
    const auto counters = layer(std::make_shared<CountingStore>(make_memory_store("test")))->counters();
    ASSERT_EQ(counters.size(), 1U) << name;
    EXPECT_EQ(counters.front().value, 7U) << name;
  }
}

TEST(Layers, PassOnWhatIsUnfinished) {
  class UnfinishedStore final : public ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Status list_unfinished(std::string_view prefix, const CallOptions&,
                           const std::function<bool(const UnfinishedWrite&)>& visit) override {
      visit({.key = std::string(prefix) + "key", .id = "7"});
      return {};
    }
    Status remove_unfinished(const UnfinishedWrite& write, const CallOptions&) override {
      return Error{Code::kAborted, write.id};
    }
  };
  for (const auto& [name, layer] : kLayers) {
    const auto store = layer(std::make_shared<UnfinishedStore>(make_memory_store("test")));
    const auto writes = list_all_unfinished(*store, "a/");
    ASSERT_TRUE(writes) << name;
    ASSERT_EQ(writes->size(), 1U) << name;
    EXPECT_EQ(writes->front().key, "a/key") << name;
    const Status removed = store->remove_unfinished(writes->front(), {});
    ASSERT_FALSE(removed) << name;
    EXPECT_EQ(removed.error().message, "7") << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, StoreConformance, testing::ValuesIn(all_layers()), driver_name);

}  // namespace
}  // namespace headrace
