// Every layer around drivers of two kinds, through the conformance suite.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/store/conformance.h"
#include "headrace/store/file/file_store.h"
#include "headrace/store/layers/cached.h"
#include "headrace/store/layers/faulty.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/layers/metered.h"
#include "headrace/store/layers/prefixed.h"
#include "headrace/store/layers/rate_limited.h"
#include "headrace/store/layers/retrying.h"
#include "headrace/store/layers/stoppable.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/scratch_folder_test.h"

namespace headrace {
namespace {

using Inner = std::shared_ptr<Store>;
using Layer = std::unique_ptr<Store> (*)(Inner);

auto* const scratch = dynamic_cast<ScratchFolder*>(testing::AddGlobalTestEnvironment(new ScratchFolder));

constexpr std::string_view kFolder = "some/folder";

std::unique_ptr<Store> prefixed(Inner inner) {
  return make_prefixed({std::move(inner), std::string(kFolder), {}});
}
std::unique_ptr<Store> metered(Inner inner) {
  return make_metered(std::move(inner), std::make_shared<StoreMetrics>());
}
// So high that nothing waits for long, and yet every call takes its tokens.
std::unique_ptr<Store> rate_limited(Inner inner) {
  return make_rate_limited(std::move(inner), {.bytes_per_second = 1e12, .requests_per_second = 1e8});
}

std::unique_ptr<Store> faultless(Inner inner) {
  return make_faulty(std::move(inner), {}, std::make_shared<FaultAccount>());
}
std::unique_ptr<Store> retrying(Inner inner) {
  using std::chrono::milliseconds;
  return make_retrying(
      std::move(inner),
      {.max_attempts = 10, .backoff = {.shortest = milliseconds(1), .longest = milliseconds(2)}});
}
std::unique_ptr<Store> retrying_faulty(Inner inner) {
  const FaultOptions faults{.rate = 0.05,
                            .faults = {Fault::kRefuse, Fault::kLoseAnswer, Fault::kCutRead},
                            .only_repeatable = true,
                            .seed = 44};
  return retrying(make_faulty(std::move(inner), faults, std::make_shared<FaultAccount>()));
}
std::unique_ptr<Store> cached_retrying_faulty(Inner inner) {
  return make_cached(retrying_faulty(std::move(inner)), {make_memory_store("near"), "cache", {}}, {});
}
std::unique_ptr<Store> stoppable(Inner inner) {
  return make_stoppable(std::move(inner), std::stop_source().get_token());
}

constexpr std::pair<const char*, Layer> kLayers[] = {{"prefixed", prefixed},
                                                     {"metered", metered},
                                                     {"rate_limited", rate_limited},
                                                     {"retrying", retrying},
                                                     {"faultless", faultless},
                                                     {"retrying_faulty", retrying_faulty},
                                                     {"cached_retrying_faulty", cached_retrying_faulty},
                                                     {"stoppable", stoppable}};

std::vector<DriverUnderTest> all_layers() {
  std::vector<DriverUnderTest> all;
  for (const auto& [name, layer] : kLayers) {
    const std::size_t max_key_bytes = layer == prefixed ? 1024 - kFolder.size() - 1 : 1024;
    all.push_back({.name = concat(name, "_memory"),
                   .open_empty = [layer = layer] { return layer(make_memory_store("test")); },
                   .max_key_bytes = max_key_bytes});
    all.push_back({.name = concat(name, "_file"),
                   .open_empty = [layer = layer] { return layer(make_file_store(scratch->new_root())); },
                   .max_key_bytes = max_key_bytes});
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

INSTANTIATE_TEST_SUITE_P(Layers, StoreConformance, testing::ValuesIn(all_layers()), driver_name);

}  // namespace
}  // namespace headrace
