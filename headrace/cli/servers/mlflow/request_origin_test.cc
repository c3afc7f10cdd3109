#include "headrace/cli/servers/mlflow/request_origin.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

bool may_ask(std::optional<std::string_view> host, std::optional<std::string_view> origin = {}) {
  const Status checked = check_request_origin(host, origin, {"runs.example"});
  EXPECT_TRUE(checked || checked.error().code == Code::kPermissionDenied);
  return checked.has_value();
}

TEST(RequestOrigin, AddressesAndKnownNamesMayBeAsked) {
  for (const char* host : {"127.0.0.1", "10.0.0.7:5000", "[::1]", "[fe80::1]:80", "localhost:1", "LOCALHOST",
                           "runs.example", "Runs.Example:5000"})
    EXPECT_TRUE(may_ask(host)) << host;
}

TEST(RequestOrigin, OtherNamesMayNot) {
  EXPECT_FALSE(may_ask(std::nullopt));
  for (const char* host : {"", ":80", "evil.example", "localhost.evil", "127.0.0.1.evil", "1.2.3", "[::1",
                           "[::1].evil", "[evil]", "::1", "runs.example.evil", "runs.example."})
    EXPECT_FALSE(may_ask(host)) << host;
}

TEST(RequestOrigin, PagesOfOtherSitesMayNot) {
  EXPECT_TRUE(may_ask("localhost:5000", "http://localhost:5000"));
  EXPECT_TRUE(may_ask("localhost:5000", "https://localhost:5000"));
  for (const char* origin : {"http://localhost", "http://evil.example", "null", "", "localhost:5000"})
    EXPECT_FALSE(may_ask("localhost:5000", origin)) << origin;
}

}  // namespace
}  // namespace headrace
