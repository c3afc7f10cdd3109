#include "headrace/track/openlineage.h"

#include <gmock/gmock.h>

#include "headrace/base/json.h"

namespace headrace {
namespace {

RunRecord training() {
  RunRecord run{.id = "imdb-1",
                .start = {.command = "train",
                          .versions = {{"headrace", "0.1.0"}},
                          .inputs = {{.url = "s3://datasets/reviews", .kind = "dataset", .digest = "d1"}},
                          .output = "s3://datasets/runs/1",
                          .started = "2026-11-21T03:26:00.125Z"}};
  run.end = RunEnd{.outputs = {{.url = "file:///data/export", .kind = "saved_model", .size_bytes = 7}},
                   .ended = "2026-11-21T03:27:00.125Z"};
  return run;
}

Json event(const RunRecord& run, std::size_t index) { return *parse_json(openlineage_events(run).at(index)); }

TEST(OpenLineage, ARunStartsAndEnds) {
  const Json start = event(training(), 0);
  const Json end = event(training(), 1);
  EXPECT_EQ(start["eventType"], "START");
  EXPECT_EQ(start["eventTime"], "2026-11-21T03:26:00.125Z");
  EXPECT_EQ(end["eventType"], "COMPLETE");
  EXPECT_EQ(end["eventTime"], "2026-11-21T03:27:00.125Z");
  EXPECT_EQ(start["run"]["runId"], end["run"]["runId"]);
  EXPECT_THAT(start["run"]["runId"].text(),
              testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  EXPECT_EQ(end["job"]["name"], "train s3://datasets/runs/1");
  EXPECT_EQ(end["inputs"].at(0)["namespace"], "s3://datasets");
  EXPECT_EQ(end["inputs"].at(0)["name"], "reviews");
  EXPECT_EQ(end["inputs"].at(0)["facets"]["version"]["datasetVersion"], "d1");
  EXPECT_EQ(end["outputs"].at(0)["namespace"], "file");
  EXPECT_EQ(end["outputs"].at(0)["name"], "/data/export");
  EXPECT_EQ(end["outputs"].at(0)["outputFacets"]["outputStatistics"]["size"], 7);
}

TEST(OpenLineage, EachStatusHasItsEvent) {
  RunRecord run = training();
  run.end->status = RunStatus::kFailed;
  run.end->error = "no space";
  EXPECT_EQ(event(run, 1)["eventType"], "FAIL");
  EXPECT_EQ(event(run, 1)["run"]["facets"]["errorMessage"]["message"], "no space");
  run.end->status = RunStatus::kStopped;
  EXPECT_EQ(event(run, 1)["eventType"], "ABORT");
  run.end.reset();
  EXPECT_EQ(event(run, 1)["eventType"], "RUNNING");
}

TEST(OpenLineage, RunsOfOneIdAreToldApartAndARunIsAlwaysTheSame) {
  RunRecord other = training();
  EXPECT_EQ(event(other, 0)["run"]["runId"], event(training(), 0)["run"]["runId"]);
  other.start.output = "s3://datasets/runs/2";
  EXPECT_NE(event(other, 0)["run"]["runId"], event(training(), 0)["run"]["runId"]);
}

}  // namespace
}  // namespace headrace
