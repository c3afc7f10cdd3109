#include "headrace/cli/servers/mlflow/mlflow_front.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "headrace/base/environment.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

TEST(MlflowFront, LargeAnswersAreNotMadeWhileManyAreInMemory) {
  StoreRegistry stores{Environment{}};
  mlflow::TrackingServiceOptions options{.root = *stores.open("memory://runs"), .root_url = "memory://runs"};
  options.stores = &stores;
  options.journals = std::filesystem::temp_directory_path() / concat("headrace-", hex64(random_name_bits()));
  options.now = Environment{}.now;
  options.remark = [](const std::string&) {};
  mlflow::TrackingService service(std::move(options));
  std::uint64_t in_flight = 100;
  MlflowFront front(service, {.busy_bytes = 100, .bytes_in_flight = [&] { return in_flight; }});
  const std::string padding(mlflow::kBodyPaddingBytes, '\0');
  const auto status_of = [&](std::string_view method, std::string_view target) {
    return front.answer_now(method, target, std::string_view(padding).substr(0, 0)).status;
  };
  constexpr std::string_view kArtifact = "/api/2.0/mlflow-artifacts/artifacts/0/r/artifacts/a";
  EXPECT_EQ(status_of("GET", kArtifact), 404U);
  in_flight = 101;
  EXPECT_EQ(status_of("GET", kArtifact), 429U);
  EXPECT_EQ(status_of("GET", "/api/2.0/mlflow/metrics/get-history?run_id=r"), 429U);
  EXPECT_EQ(status_of("POST", "/api/2.0/mlflow/runs/search"), 429U);
  EXPECT_EQ(status_of("GET", "/api/2.0/mlflow/runs/get?run_id=r"), 404U);
}

}  // namespace
}  // namespace headrace
