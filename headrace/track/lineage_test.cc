#include "headrace/track/lineage.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/store/registry.h"
#include "headrace/track/recorder.h"

namespace headrace {
namespace {

Artifact artifact(std::string url, std::string digest = "") {
  return {.url = std::move(url), .kind = "folder", .digest = std::move(digest)};
}

// A run of the given second; `outputs` make it finished.
RunRecord run(int second, std::string command, std::vector<Artifact> inputs, std::vector<Artifact> outputs) {
  RunRecord out = {.id = concat("20261121-0326", zero_padded(second, 2), "-00000000"),
                   .start = {.command = std::move(command),
                             .inputs = std::move(inputs),
                             .output = outputs.empty() ? "" : outputs[0].url,
                             .started = concat("2026-11-21T03:26:", zero_padded(second, 2), ".000Z")}};
  out.end = RunEnd{.status = RunStatus::kFinished, .outputs = std::move(outputs)};
  return out;
}

// No store is asked: there is no root.
StoreRegistry& no_stores() {
  static StoreRegistry stores{Environment{}};
  return stores;
}

struct Runs : RunPool {
  Runs() : RunPool(no_stores()) {}
  Lineage lineage(std::string_view url) { return *lineage_of(url, *this); }
};

Runs pipeline() {
  Runs runs;
  runs.add(run(1, "prepare", {artifact("s3://b/raw.tar.gz")}, {artifact("s3://b/data", "d1")}));
  runs.add(run(2, "train", {artifact("s3://b/data", "d1")}, {artifact("s3://b/runs/1/export", "e1")}));
  runs.add(run(3, "evaluate", {artifact("s3://b/runs/1/export", "e1"), artifact("s3://b/data", "d1")}, {}));
  runs.add(run(4, "predict", {artifact("s3://b/runs/1/export", "e1")}, {artifact("s3://b/predictions")}));
  return runs;
}

std::vector<std::string> commands(const LineageNode& node) {
  std::vector<std::string> out;
  for (const LineageStep& step : node.steps) out.push_back(step.run.start.command);
  return out;
}

TEST(Lineage, FollowsMakersBackToTheRawInput) {
  const LineageNode predictions = pipeline().lineage("s3://b/predictions").upstream;
  ASSERT_EQ(commands(predictions), std::vector<std::string>{"predict"});
  const LineageNode& model = predictions.steps[0].nodes.at(0);
  ASSERT_EQ(commands(model), std::vector<std::string>{"train"});
  const LineageNode& data = model.steps[0].nodes.at(0);
  ASSERT_EQ(commands(data), std::vector<std::string>{"prepare"});
  const LineageNode& raw = data.steps[0].nodes.at(0);
  EXPECT_EQ(raw.artifact.url, "s3://b/raw.tar.gz");
  EXPECT_TRUE(raw.steps.empty());
}

TEST(Lineage, FollowsReadersForwardToTheLastResult) {
  const LineageNode raw = pipeline().lineage("s3://b/raw.tar.gz").downstream;
  ASSERT_EQ(commands(raw), std::vector<std::string>{"prepare"});
  const LineageNode& data = raw.steps[0].nodes.at(0);
  EXPECT_EQ(commands(data), (std::vector<std::string>{"train", "evaluate"}));
  const LineageNode& model = data.steps[0].nodes.at(0);
  EXPECT_EQ(commands(model), (std::vector<std::string>{"evaluate", "predict"}));
}

TEST(Lineage, AFolderIsMadeByWhatWroteInItAndAnObjectByWhatWroteItsFolder) {
  EXPECT_EQ(commands(pipeline().lineage("s3://b/runs/1").upstream), std::vector<std::string>{"train"});
  EXPECT_EQ(commands(pipeline().lineage("s3://b/data/train-00000.tfrecord").upstream),
            std::vector<std::string>{"prepare"});
  EXPECT_TRUE(pipeline().lineage("s3://b/data2").upstream.steps.empty());
}

TEST(Lineage, TheDigestDecidesWhichVersionWasRead) {
  Runs runs = pipeline();
  runs.add(run(5, "prepare", {artifact("s3://b/other.tar.gz")}, {artifact("s3://b/data", "d2")}));
  const LineageNode model = runs.lineage("s3://b/runs/1/export").upstream;
  const LineageNode& data = model.steps.at(0).nodes.at(0);
  EXPECT_EQ(data.steps.at(0).nodes.at(0).artifact.url, "s3://b/raw.tar.gz");
  const LineageNode newest = runs.lineage("s3://b/data").upstream;
  EXPECT_EQ(newest.steps.at(0).nodes.at(0).artifact.url, "s3://b/other.tar.gz");
}

TEST(Lineage, AKilledRunGivesWayToTheOneThatFinished) {
  Runs runs = pipeline();
  RunRecord killed = run(6, "train", {artifact("s3://b/data", "d1")}, {artifact("s3://b/runs/1")});
  killed.end.reset();
  runs.add(killed);
  const LineageNode model = runs.lineage("s3://b/runs/1/export").upstream;
  EXPECT_EQ(model.steps.at(0).run.start.started, "2026-11-21T03:26:02.000Z");
  killed.start.output = "s3://b/runs/2";
  runs.add(killed);
  EXPECT_EQ(commands(runs.lineage("s3://b/runs/2").upstream), std::vector<std::string>{"train"});
}

// All versions of a named artifact have one URL, which is not a run's own output.
Runs versions_of_cats() {
  const auto cats = [](std::string digest) {
    return Artifact{.url = "s3://b/named/cats", .kind = "artifact", .digest = std::move(digest)};
  };
  Runs runs;
  for (RunRecord each :
       {run(1, "log", {artifact("s3://b/raw")}, {cats("d1")}), run(2, "clean", {cats("d1")}, {cats("d2")}),
        run(3, "use", {cats("d2"), cats("killed")}, {})}) {
    each.start.output.clear();
    runs.add(std::move(each));
  }
  return runs;
}

TEST(Lineage, ARunThatUsesAVersionAndLogsTheNextIsAReader) {
  Runs runs = versions_of_cats();
  const auto readers = [&](const char* digest) {
    return commands(lineage_of("s3://b/named/cats", runs, digest)->downstream);
  };
  EXPECT_EQ(readers("d1"), std::vector<std::string>{"clean"});
  EXPECT_EQ(readers("d2"), std::vector<std::string>{"use"});
}

TEST(Lineage, AVersionThatNoRunRecordedHasNoMaker) {
  Runs runs = versions_of_cats();
  const auto makers = [&](const char* digest) {
    return commands(lineage_of("s3://b/named/cats", runs, digest)->upstream);
  };
  EXPECT_EQ(makers("d2"), std::vector<std::string>{"clean"});
  EXPECT_EQ(makers("killed"), std::vector<std::string>{});
  EXPECT_EQ(makers(""), std::vector<std::string>{"clean"}) << "the latest";
}

// The first attempt came before its data.
TEST(Lineage, AJobThatWasStartedAgainKeepsTheMakersOfItsInputs) {
  for (const char* digest : {"d1", ""}) {
    Runs runs;
    runs.add(run(2, "prepare", {artifact("s3://b/raw.tar.gz")}, {artifact("s3://b/data", digest)}));
    RunRecord job = run(1, "train", {artifact("s3://b/data", digest)}, {artifact("s3://b/runs/1/export")});
    RunPart again{.name = "again", .start = job.start, .end = job.end};
    again.start.started = "2026-11-21T03:26:03.000Z";
    job.parts = {again, {.name = "first", .start = job.start}};
    runs.add(job);
    const LineageNode model = runs.lineage("s3://b/runs/1/export").upstream;
    EXPECT_EQ(commands(model.steps.at(0).nodes.at(0)), std::vector<std::string>{"prepare"}) << digest;
  }
}

TEST(Lineage, WhatFoundTheResultThereDidNotMakeIt) {
  Runs runs = pipeline();
  runs.add(run(5, "prepare", {artifact("s3://b/raw.tar.gz")}, {artifact("s3://b/data", "d1")}));
  runs.add(run(6, "train", {artifact("s3://b/data", "d1")}, {artifact("s3://b/runs/6/export", "e6")}));
  for (const char* url : {"s3://b/data", "s3://b/data/train-00000.tfrecord"}) {
    const LineageNode data = runs.lineage(url).upstream;
    EXPECT_EQ(data.steps.at(0).run.start.started, "2026-11-21T03:26:01.000Z") << url;
  }
  const LineageNode model = runs.lineage("s3://b/runs/6/export").upstream;
  EXPECT_EQ(model.steps.at(0).nodes.at(0).steps.at(0).run.start.started, "2026-11-21T03:26:01.000Z");
}

TEST(Lineage, ARunThatFailedMadeNothing) {
  Runs runs = pipeline();
  for (const char* output : {"s3://b/data", "s3://b/other/data"}) {
    RunRecord failed = run(7, "prepare", {artifact("s3://b/raw.tar.gz")}, {});
    failed.start.output = output;
    failed.end->status = RunStatus::kFailed;
    runs.add(failed);
  }
  EXPECT_EQ(runs.lineage("s3://b/data").upstream.steps.at(0).run.status(), RunStatus::kFinished);
  EXPECT_TRUE(runs.lineage("s3://b/other/data").upstream.steps.empty());
  EXPECT_TRUE(runs.lineage("s3://b/other").upstream.steps.empty());
}

TEST(Lineage, CirclesEnd) {
  Runs runs;
  runs.add(run(1, "train", {artifact("s3://b/a")}, {artifact("s3://b/b")}));
  runs.add(run(1, "train", {artifact("s3://b/b")}, {artifact("s3://b/a")}));
  const Lineage lineage = runs.lineage("s3://b/a");
  const LineageNode& again = lineage.upstream.steps.at(0).nodes.at(0).steps.at(0).nodes.at(0);
  EXPECT_EQ(again.artifact.url, "s3://b/a");
  EXPECT_TRUE(again.repeated);
  EXPECT_TRUE(again.steps.empty());
  EXPECT_FALSE(lineage.downstream.steps.empty());
}

TEST(Lineage, FollowsInputsIntoOtherTrackingRoots) {
  StoreRegistry stores{Environment{}};
  const auto at = [&](std::string_view url) { return *stores.open(url); };
  const auto record = [&](std::string command, const char* from, const char* to) {
    auto recorder =
        RunRecorder::start(stores, at(to), {.command = std::move(command)}, {.now = Environment{}.now});
    Artifact input = artifact(from);
    input.name = "input";
    ASSERT_TRUE(recorder->add_input(std::move(input)));
    const Location object = at(to).at("object");
    ASSERT_TRUE(write_text(*object.store, object.key, "x"));
    ASSERT_TRUE(recorder->add_output("output", at(to)));
    ASSERT_TRUE(recorder->finish({}, {}));
  };
  record("prepare", "memory://raw/texts", "memory://data/reviews");
  record("train", "memory://data/reviews", "memory://models/imdb");
  RunPool runs(stores);
  ASSERT_TRUE(runs.add(at("memory://models")));
  const LineageNode model = lineage_of("memory://models/imdb", runs)->upstream;
  EXPECT_TRUE(runs.remarks().empty());
  ASSERT_EQ(commands(model), std::vector<std::string>{"train"});
  EXPECT_EQ(commands(model.steps[0].nodes.at(0)), std::vector<std::string>{"prepare"});
}

TEST(Lineage, FoldersOfInputsBeyondTheLimitAreNotFollowedAndOneRemarkSaysSo) {
  StoreRegistry stores{Environment{}};
  const auto remarks_with = [&](std::size_t folders) {
    RunPool runs(stores);
    RunRecord reader = run(1, "train", {}, {});
    for (std::size_t i = 0; i < folders; ++i)
      reader.start.inputs.push_back(artifact(concat("memory://raw/", i, "/texts")));
    runs.add(reader);
    EXPECT_TRUE(runs.add(*stores.open("memory://models")));
    EXPECT_TRUE(runs.add(*stores.open("memory://other")));
    return runs.remarks();
  };
  EXPECT_TRUE(remarks_with(RunPool::kMaximumFolders).empty());
  EXPECT_EQ(remarks_with(RunPool::kMaximumFolders + 1),
            std::vector<std::string>{"inputs lie in more than 256 folders: runs near the other folders were "
                                     "left out; name those with --track"});
}

}  // namespace
}  // namespace headrace
