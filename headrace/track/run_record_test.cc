#include "headrace/track/run_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace headrace {
namespace {

constexpr std::string_view kId = "20261121-032600-1f2e3d4c";

RunStart example_start() {
  return {.command = "train",
          .command_line = {"headrace", "train", "s3://datasets/reviews", "s3://datasets/runs/imdb-1"},
          .parameters = {{"epochs", "10"}},
          .versions = {{"headrace", "0.1.0"}},
          .host = {{"cores", "2"}},
          .inputs = {{.url = "s3://datasets/reviews",
                      .kind = "dataset",
                      .manifest = 1,
                      .digest = "ab",
                      .size_bytes = 7}},
          .output = "s3://datasets/runs/imdb-1",
          .started = "2026-11-21T03:26:00.125Z"};
}

RunEnd example_end() {
  return {.status = RunStatus::kFinished,
          .outputs = {{.url = "s3://datasets/runs/imdb-1", .kind = "folder", .name = "export"}},
          .metrics = {{"accuracy", 0.75}},
          .counts = {{"records", 10}},
          .ended = "2026-11-21T03:26:02.625Z",
          .seconds = 2.5};
}

TEST(RunRecordFormat, ReadsWhatItWrote) {
  const auto start = parse_run_start(as_bytes(serialize_run_start(kId, example_start())));
  ASSERT_TRUE(start) << start.error().message;
  EXPECT_EQ(serialize_run_start(kId, *start), serialize_run_start(kId, example_start()));
  EXPECT_EQ(start->inputs.at(0).manifest, 1U);
  EXPECT_EQ(start->parameters.at("epochs"), "10");
  const auto end = parse_run_end(as_bytes(serialize_run_end(kId, example_end())));
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(serialize_run_end(kId, *end), serialize_run_end(kId, example_end()));
  EXPECT_EQ(end->metrics.at("accuracy"), 0.75);
}

TEST(RunRecordFormat, IsByteForByteAsItsPageShows) {
  EXPECT_EQ(serialize_run_end("imdb-1", example_end()),
            R"({"counts":{"records":10},"ended":"2026-11-21T03:26:02.625Z","error":"",)"
            R"("format":"headrace.run.end","inputs":[],"metrics":{"accuracy":0.75},)"
            R"("outputs":[{"digest":"","kind":"folder","manifest":0,"name":"export","size_bytes":0,)"
            R"("url":"s3://datasets/runs/imdb-1","version":""}],"run":"imdb-1","seconds":2.5,"series":[],)"
            R"("status":"finished","version":2,"versions":{},"zz_crc32c":"caa3e967"})"
            "\n");
}

TEST(RunRecordFormat, TheEndMayReplaceSettings) {
  RunEnd written = example_end();
  written.parameters = {{"epochs", "3"}, {"rate", "0.1"}};
  const auto end = parse_run_end(as_bytes(serialize_run_end(kId, written)));
  ASSERT_TRUE(end) << end.error().message;
  RunRecord run{.id = std::string(kId), .start = example_start(), .end = *end};
  EXPECT_EQ(run.parameters().at("epochs"), "3");
  EXPECT_EQ(run.parameters().at("rate"), "0.1");
  EXPECT_EQ(run.parameters().size(), run.start.parameters.size() + 1);
  run.end.reset();
  EXPECT_EQ(run.parameters(), run.start.parameters);
}

TEST(RunRecordFormat, ReadsWhatItWroteOfEachThing) {
  const Artifact data = example_start().inputs.at(0);
  const auto input = parse_run_input(as_bytes(serialize_run_input(kId, data)));
  ASSERT_TRUE(input) << input.error().message;
  EXPECT_EQ(input->digest, "ab");
  const auto output = parse_run_output(as_bytes(serialize_run_output(kId, example_end().outputs.at(0))));
  ASSERT_TRUE(output) << output.error().message;
  EXPECT_EQ(output->name, "export");
  const auto series =
      parse_run_series(as_bytes(serialize_run_series(kId, {"train", "s3://b/events/train", "event_files"})));
  ASSERT_TRUE(series) << series.error().message;
  EXPECT_EQ(series->url, "s3://b/events/train");
  EXPECT_FALSE(parse_run_output(as_bytes(serialize_run_input(kId, data))));
}

TEST(RunRecordFormat, KeepsNumbersThatJsonLacks) {
  RunEnd end = example_end();
  end.metrics = {{"loss", std::numeric_limits<double>::quiet_NaN()},
                 {"gain", -std::numeric_limits<double>::infinity()}};
  const auto read = parse_run_end(as_bytes(serialize_run_end(kId, end)));
  ASSERT_TRUE(read);
  EXPECT_TRUE(std::isnan(read->metrics.at("loss")));
  EXPECT_EQ(read->metrics.at("gain"), -std::numeric_limits<double>::infinity());
}

TEST(RunRecordFormat, RefusesDamageAndNewerVersions) {
  const std::string good = serialize_run_end(kId, example_end());
  for (std::size_t cut = 0; cut + 1 < good.size(); ++cut) {
    ASSERT_FALSE(parse_run_end(as_bytes(good.substr(0, cut)))) << cut;
  }
  for (std::size_t at = 0; at + 1 < good.size(); ++at) {
    std::string altered = good;
    altered[at] = altered[at] == '0' ? '1' : '0';
    ASSERT_FALSE(parse_run_end(as_bytes(altered))) << at;
  }
  EXPECT_FALSE(parse_run_start(as_bytes(good)));
  std::string newer = good;
  newer.replace(newer.find(R"("version":2,)"), 12, R"("version":3,)");
  const auto refused = parse_run_end(as_bytes(newer));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnimplemented);
}

TEST(RunRecordFormat, RefusesWhatNestsWithoutEnd) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  for (const std::string& text : {deep, R"({"format":)" + deep + "}", R"({"version":)" + deep + "}"}) {
    const auto refused = parse_run_start(as_bytes(text));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kDataLoss);
  }
}

TEST(RunRecordFormat, HoldsNoSecretFromAnywhere) {
  RunStart start = example_start();
  start.command_line = {"headrace", "train", "--api-token", "hunter2", "--url=https://me:hunter2@host/a"};
  start.parameters = {{"api-token", "hunter2"}, {"url", "https://host/a?X-Amz-Signature=hunter2&b=hunter2"}};
  start.parameters["runner-option"] = "x=1, apikey=hunter2";
  start.host["db_pass"] = "hunter2";
  start.inputs.at(0).url = "https://me:hunter2@host/a";
  EXPECT_THAT(serialize_run_start(kId, start), testing::Not(testing::HasSubstr("hunter2")));
  RunEnd end = example_end();
  end.error = "GET https://me:hunter2@host/a?token=hunter2 failed: secret_key=hunter2 was refused";
  EXPECT_THAT(serialize_run_end(kId, end), testing::Not(testing::HasSubstr("hunter2")));
}

TEST(RunRecord, OfAKilledRunTakesTheFolderItWroteToForItsOutput) {
  RunRecord run = {.id = std::string(kId), .start = example_start()};
  EXPECT_EQ(run.status(), RunStatus::kUnfinished);
  ASSERT_EQ(run.outputs().size(), 1U);
  EXPECT_EQ(run.outputs()[0].url, "s3://datasets/runs/imdb-1");
  run.end = RunEnd{.status = RunStatus::kFinished};
  EXPECT_TRUE(run.outputs().empty());
}

}  // namespace
}  // namespace headrace
