// The store on a real cluster: HEADRACE_IGNITE_ADDRESSES, which tools/servers/ignite.sh sets.

#include "headrace/store/ignite/ignite_server_test.h"

#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/store/conformance.h"
#include "headrace/store/ignite/ignite_store.h"

namespace headrace {

IgniteOptions test_cluster_options() {
  const Environment environment = Environment::capture();
  IgniteOptions options;
  for (const std::string& text : split(environment.get("HEADRACE_IGNITE_ADDRESSES").value_or(""), ',')) {
    const Result<ignite::Address> address = ignite::parse_address(text);
    if (address) options.cluster.addresses.push_back(*address);
  }
  return options;
}

IgniteCaches test_caches(const IgniteOptions& options) {
  IgniteClient client("ignite://test/headrace-test", "headrace-test", options);
  Result<IgniteCaches> caches = client.for_writing({});
  EXPECT_TRUE(caches.has_value()) << caches.error().message;
  return *std::move(caches);
}

// Creating caches takes longer than emptying them.
std::unique_ptr<Store> open_empty_ignite_store(IgniteOptions options) {
  const IgniteCaches caches = test_caches(options);
  EXPECT_TRUE(caches.heads.clear().has_value());
  EXPECT_TRUE(caches.chunks.clear().has_value());
  return open_ignite_store("ignite://test/headrace-test", "headrace-test", std::move(options));
}

namespace {

// One connection for all tests of the suite would hide errors of connecting; one for each test does not.
INSTANTIATE_TEST_SUITE_P(Ignite, StoreConformance,
                         testing::Values(DriverUnderTest{
                             "ignite", [] { return open_empty_ignite_store(test_cluster_options()); }}),
                         driver_name);

}  // namespace
}  // namespace headrace
