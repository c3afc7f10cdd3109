#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/track/run_record.h"

namespace headrace {
namespace {

using testing::ElementsAre;

RunPart part(std::uint64_t rank, int second, std::optional<RunStatus> status, std::uint64_t ranks = 2) {
  RunPart out{.name = concat("part", rank, second),
              .start = {.command = "train",
                        .inputs = {{.url = "s3://b/data", .kind = "dataset"}},
                        .output = "s3://b/runs/1",
                        .started = concat("2026-11-21T03:26:0", second, ".000Z"),
                        .rank = rank,
                        .ranks = ranks}};
  if (status) {
    out.end = RunEnd{.status = *status,
                     .outputs = {{.url = concat("s3://b/runs/1/part-", rank), .kind = "object"}},
                     .metrics = {{"loss", static_cast<double>(rank)}},
                     .ended = concat("2026-11-21T03:27:0", second, ".000Z"),
                     .seconds = static_cast<double>(10 + second)};
    if (*status == RunStatus::kFailed) out.end->error = "no room";
  }
  return out;
}

RunStatus joint(std::vector<RunPart> parts) { return join_parts("run", std::move(parts)).status(); }

TEST(JoinParts, OnePartIsTheRun) {
  const RunRecord run = join_parts("run", {part(0, 1, RunStatus::kFinished, 1)});
  EXPECT_EQ(run.id, "run");
  EXPECT_EQ(run.status(), RunStatus::kFinished);
  EXPECT_EQ(run.end->seconds, 11);
  EXPECT_EQ(run.parts.size(), 1U);
}

TEST(JoinParts, TheStatusIsThatOfAllRanks) {
  using enum RunStatus;
  EXPECT_EQ(joint({part(0, 1, kFinished), part(1, 2, kFinished)}), kFinished);
  EXPECT_EQ(joint({part(0, 1, kFinished), part(1, 2, std::nullopt)}), kUnfinished);
  EXPECT_EQ(joint({part(0, 1, kFinished)}), kUnfinished) << "the other rank has left nothing";
  EXPECT_EQ(joint({part(0, 1, std::nullopt), part(1, 2, kFailed)}), kFailed);
  EXPECT_EQ(joint({part(0, 1, kStopped), part(1, 2, kFinished)}), kStopped);
  EXPECT_EQ(joint({part(0, 1, kStopped), part(1, 2, std::nullopt)}), kUnfinished);
}

TEST(JoinParts, RemarksOfEarlierAttemptsStay) {
  std::vector<RunPart> parts = {part(0, 1, std::nullopt, 1), part(0, 2, std::nullopt, 1),
                                part(0, 3, RunStatus::kFinished, 1)};
  parts[1].start.remarks = {"another kind of processor"};
  EXPECT_THAT(join_parts("run", std::move(parts)).start.remarks, ElementsAre("another kind of processor"));
}

TEST(JoinParts, ALaterAttemptOfARankStandsForIt) {
  const RunRecord run =
      join_parts("run", {part(0, 1, RunStatus::kFailed), part(1, 2, std::nullopt),
                         part(0, 3, RunStatus::kFinished), part(1, 4, RunStatus::kFinished)});
  EXPECT_EQ(run.status(), RunStatus::kFinished);
  EXPECT_EQ(run.start.started, "2026-11-21T03:26:01.000Z") << "when the first attempt began";
  ASSERT_EQ(run.parts.size(), 4U);
  EXPECT_EQ(run.parts[0].start.started, "2026-11-21T03:26:03.000Z");
}

TEST(JoinParts, WhatTheyReadAndMadeIsThereOnce) {
  const RunRecord run =
      join_parts("run", {part(1, 2, RunStatus::kFinished), part(0, 1, RunStatus::kFinished)});
  EXPECT_EQ(run.inputs().size(), 1U);
  std::vector<std::string> outputs;
  for (const Artifact& output : run.outputs()) outputs.push_back(output.url);
  EXPECT_THAT(outputs, ElementsAre("s3://b/runs/1/part-0", "s3://b/runs/1/part-1"));
  EXPECT_EQ(run.end->metrics.at("loss"), 0) << "the lowest rank's";
  EXPECT_EQ(run.end->ended, "2026-11-21T03:27:02.000Z");
  EXPECT_EQ(run.end->seconds, 12);
}

TEST(JoinParts, AFailureNamesItsRank) {
  const RunRecord run = join_parts("run", {part(0, 1, RunStatus::kFinished), part(1, 2, RunStatus::kFailed)});
  EXPECT_EQ(run.end->error, "rank 1: no room");
}

TEST(JoinParts, WhatALivingRunHasPublishedIsShown) {
  RunPart living = part(1, 2, std::nullopt);
  living.so_far.series = {{.name = "train", .url = "s3://b/runs/1/events/train", .kind = "event_files"}};
  const RunRecord run = join_parts("run", {part(0, 1, RunStatus::kFinished), std::move(living)});
  EXPECT_FALSE(run.end);
  ASSERT_EQ(run.outputs().size(), 1U);
  EXPECT_EQ(run.outputs()[0].url, "s3://b/runs/1/part-0");
  ASSERT_EQ(run.so_far.series.size(), 1U);
}

}  // namespace
}  // namespace headrace
