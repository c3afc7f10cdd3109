#include "headrace/net/ignite/access.h"

#include <gmock/gmock.h>

namespace headrace::ignite {
namespace {

Environment with(std::map<std::string, std::string, std::less<>> variables) {
  return {.variables = std::move(variables)};
}

TEST(IgniteAccess, AddressesAreSeparatedByCommas) {
  const auto options = cluster_options("a,b:1,[::1]:2", with({}));
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->addresses,
            (std::vector<Address>{{.host = "a"}, {.host = "b", .port = 1}, {.host = "::1", .port = 2}}));
  EXPECT_TRUE(options->discover);
  EXPECT_FALSE(options->connection.tls);
  for (const char* hosts : {"", "a,", "a:x"})
    EXPECT_EQ(cluster_options(hosts, with({})).error().code, Code::kInvalidArgument) << hosts;
}

TEST(IgniteAccess, UserAndTlsComeFromTheEnvironment) {
  const auto options = cluster_options("a", with({{"HEADRACE_IGNITE_USER", "ann"},
                                                  {"HEADRACE_IGNITE_PASSWORD", "secret"},
                                                  {"HEADRACE_IGNITE_CA_FILE", "ca.pem"},
                                                  {"HEADRACE_IGNITE_KEY_PASSWORD", "key"},
                                                  {"HEADRACE_IGNITE_VERIFY_TLS", "0"},
                                                  {"HEADRACE_IGNITE_DISCOVER", "no"}}));
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->connection.credentials.user, "ann");
  EXPECT_EQ(options->connection.credentials.password, "secret");
  EXPECT_EQ(options->tls.ca_file, "ca.pem");
  EXPECT_EQ(options->tls.key_password, "key");
  EXPECT_TRUE(options->connection.tls);
  EXPECT_FALSE(options->discover);
  EXPECT_FALSE(options->tls.verify);
  EXPECT_TRUE(cluster_options("a", with({}))->tls.verify);
  EXPECT_TRUE(cluster_options("a", with({{"HEADRACE_IGNITE_TLS", "1"}}))->connection.tls);
  EXPECT_EQ(cluster_options("a", with({{"HEADRACE_IGNITE_TLS", "perhaps"}})).error().code,
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace headrace::ignite
