#include "headrace/store/ignite/ignite_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/store/ignite/ignite_driver.h"
#include "headrace/store/registry.h"

namespace headrace {
namespace {

using Variables = std::map<std::string, std::string, std::less<>>;

Result<IgnitePlace> place_of(std::string_view url, Variables variables = {}) {
  HEADRACE_TRY(const Url parsed, StoreRegistry::parse(url));
  return ignite_place_from(parsed, Environment{.variables = std::move(variables)});
}

std::string first_address(const Result<IgnitePlace>& place) {
  return place ? place->options.cluster.addresses.front().text() : place.error().message;
}

TEST(IgniteOptions, TheUrlNamesNodesAndStore) {
  const auto place = place_of("ignite://one,two:10801/reviews/a/b");
  ASSERT_TRUE(place) << place.error().message;
  EXPECT_EQ(place->name, "reviews");
  ASSERT_EQ(place->options.cluster.addresses.size(), 2U);
  EXPECT_EQ(place->options.cluster.addresses[0].text(), "one:10800");
  EXPECT_EQ(place->options.cluster.addresses[1].text(), "two:10801");
  EXPECT_EQ(StoreRegistry::parse("ignite://one/reviews/a/b")->path, "a/b");
  EXPECT_EQ(StoreRegistry::parse("ignite://one/reviews")->path, "");
  EXPECT_FALSE(place_of("ignite://one"));
  EXPECT_FALSE(place_of("ignite://one:0/reviews"));
  EXPECT_FALSE(place_of("ignite:///reviews/a"));
}

TEST(IgniteOptions, AnEmptyHostIsTakenFromTheEnvironment) {
  EXPECT_EQ(first_address(place_of("igfs:///hello.txt")), "localhost:10800");
  EXPECT_EQ(first_address(place_of("igfs:///a", {{"IGFS_HOST", "old"}})), "old:10800");
  const Variables both = {{"IGFS_HOST", "old"}, {"IGNITE_HOST", "new"}, {"IGNITE_PORT", "10805"}};
  EXPECT_EQ(first_address(place_of("igfs:///a", both)), "new:10805");
  EXPECT_EQ(first_address(place_of("igfs://db:10802/a", both)), "db:10802");
  EXPECT_EQ(place_of("igfs:///a")->name, "default_fs");
  EXPECT_EQ(place_of("igfs:///a", {{"IGFS_FS_NAME", "files"}})->name, "files");
  EXPECT_FALSE(place_of("igfs:///a", {{"IGNITE_PORT", "many"}}));
}

TEST(IgniteOptions, AFileForTlsTurnsItOnUnlessItIsSaid) {
  const auto tls = [](Variables variables) {
    return place_of("ignite://one/a", std::move(variables))->options.cluster.connection.tls;
  };
  EXPECT_FALSE(tls({}));
  EXPECT_TRUE(tls({{"HEADRACE_IGNITE_CA_FILE", "ca.pem"}}));
  EXPECT_TRUE(tls({{"HEADRACE_IGNITE_CERTIFICATE_FILE", "client.pem"}}));
  EXPECT_TRUE(tls({{"HEADRACE_IGNITE_TLS", "true"}}));
  EXPECT_FALSE(tls({{"HEADRACE_IGNITE_CA_FILE", "ca.pem"}, {"HEADRACE_IGNITE_TLS", "false"}}));
}

TEST(IgniteOptions, AWrongVariableIsNamedAndNoSecretShown) {
  for (const auto& [name, value] : {std::pair("HEADRACE_IGNITE_BACKUPS", "-1"),
                                    {"HEADRACE_IGNITE_BACKUPS", "some"},
                                    {"HEADRACE_IGNITE_TLS", "perhaps"},
                                    {"HEADRACE_IGNITE_VERIFY_TLS", "perhaps"},
                                    {"HEADRACE_IGNITE_DISCOVER", "perhaps"}}) {
    const auto place = place_of("ignite://one/a", {{name, value}, {"HEADRACE_IGNITE_PASSWORD", "hush"}});
    ASSERT_FALSE(place) << name;
    EXPECT_EQ(place.error().code, Code::kInvalidArgument);
    EXPECT_THAT(place.error().message, testing::HasSubstr(name));
    EXPECT_THAT(place.error().message, testing::Not(testing::HasSubstr("hush")));
  }
}

TEST(IgniteOptions, OptionsThatBelongTogetherAreAskedForTogether) {
  const std::pair<std::string, std::string> user{"username", "ignite"}, password{"password", "hush"};
  EXPECT_FALSE(with_options(kIgniteDriver, std::vector{user}, {}));
  const auto both = with_options(kIgfsDriver, std::vector{user, password}, {});
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(both->get("HEADRACE_IGNITE_PASSWORD"), "hush");
  EXPECT_FALSE(
      with_options(kIgniteDriver, std::vector<std::pair<std::string, std::string>>{{"client-key", "k"}}, {}));
}

TEST(IgniteOptions, AStoreWhoseNodesAreNotCheckedWarns) {
  const auto opened = kIgniteDriver.open(
      *StoreRegistry::parse("ignite://one/reviews/a"),
      Environment{.variables = {{"HEADRACE_IGNITE_TLS", "1"}, {"HEADRACE_IGNITE_VERIFY_TLS", "0"}}});
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_THAT(opened->warning, testing::HasSubstr("ignite://one/reviews: the nodes' certificates are not"));
  EXPECT_EQ(opened->store->describe("a/b"), "ignite://one/reviews/a/b");
  EXPECT_EQ(kIgfsDriver.open(*StoreRegistry::parse("igfs:///a"), {})->store->describe("b"), "igfs:///b");
}

}  // namespace
}  // namespace headrace
