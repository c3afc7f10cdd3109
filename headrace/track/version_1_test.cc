#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "headrace/store/registry.h"
#include "headrace/track/lineage.h"
#include "headrace/track/recorder.h"
#include "headrace/track/runs.h"

// Records as Headrace wrote them in version 1 of the format: they are read for ever, and never written.
namespace headrace {
namespace {

constexpr std::string_view kVersion1Start =
    R"({"command":"train","command_line":["headrace","train","memory://b/data","memory://b/runs/1"])"
    R"(,"format":"headrace.run.start","host":{"cores":"2","processor":"unknown"},"inputs":[],"outpu)"
    R"(t":"memory://b/runs/1","parameters":{"epochs":"10"},"resumed_from":"","run":"20261121-032600)"
    R"(-1f2e3d4c","started":"2026-11-21T03:26:00.125Z","version":1,"versions":{"headrace":"0.1.0"},)"
    R"("zz_crc32c":"0b44417a"})"
    "\n";

constexpr std::string_view kVersion1End =
    R"({"counts":{"records":10},"ended":"2026-11-21T03:26:02.625Z","error":"stopped","format":"head)"
    R"(race.run.end","inputs":[{"digest":"ab","kind":"dataset","manifest":1,"size_bytes":7,"url":"m)"
    R"(emory://b/data","version":""}],"metrics":{"accuracy":0.75,"loss":"NaN"},"outputs":[{"digest")"
    R"(:"","kind":"folder","manifest":0,"size_bytes":0,"url":"memory://b/runs/1/export","version":")"
    R"("}],"run":"20261121-032600-1f2e3d4c","seconds":2.5,"status":"stopped","version":1,"versions")"
    R"(:{"tensorflow":"2.21.0"},"zz_crc32c":"686c94c1"})"
    "\n";

class Version1 : public testing::Test {
 protected:
  void SetUp() override {
    write("start", kVersion1Start);
    write("end", kVersion1End);
  }
  void write(const std::string& name, std::string_view text) {
    const Location object = root.at("_headrace/runs/20261121-032600-1f2e3d4c/" + name);
    ASSERT_TRUE(write_text(*object.store, object.key, text));
  }
  Result<RunRecorder> start() {
    return RunRecorder::start(stores, *stores.open("memory://b/runs/1"), {.command = "train"},
                              {.now = Environment{}.now});
  }

  StoreRegistry stores{Environment{}};
  Location root = *stores.open("memory://b");
};

TEST_F(Version1, IsReadAsARunOfOnePart) {
  const auto run = read_run(root, "20261121-032600-1f2e3d4c");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->status(), RunStatus::kStopped);
  EXPECT_EQ(run->start.command_line.at(3), "memory://b/runs/1");
  EXPECT_EQ(run->start.rank, 0U);
  EXPECT_EQ(run->start.ranks, 1U);
  ASSERT_EQ(run->inputs().size(), 1U);
  EXPECT_EQ(run->inputs()[0].digest, "ab");
  EXPECT_EQ(run->inputs()[0].name, "");
  EXPECT_EQ(run->end->metrics.at("accuracy"), 0.75);
  EXPECT_TRUE(std::isnan(run->end->metrics.at("loss")));
  EXPECT_EQ(run->versions().at("tensorflow"), "2.21.0");
  EXPECT_TRUE(run->end->series.empty());
}

TEST_F(Version1, IsListedBesideVersion2) {
  const std::string newer = start()->run_id();
  const auto list = list_runs(root, 10);
  ASSERT_TRUE(list);
  ASSERT_EQ(list->runs.size(), 2U);
  EXPECT_EQ(list->runs[0].id, "20261121-032600-1f2e3d4c");
  EXPECT_EQ(list->runs[1].id, newer);
  EXPECT_EQ(list_runs(root, 1)->runs.at(0).id, newer);
  EXPECT_EQ(list_version_1_runs(root, 10)->runs.size(), 1U);
}

TEST_F(Version1, IsFoundByLineage) {
  ASSERT_TRUE(start()) << "whose catalog does not know of it";
  RunPool runs(stores);
  ASSERT_TRUE(runs.add(root));
  const auto lineage = lineage_of("memory://b/data", runs);
  ASSERT_TRUE(lineage);
  ASSERT_EQ(lineage->downstream.steps.size(), 1U);
  EXPECT_EQ(lineage->downstream.steps[0].run.id, "20261121-032600-1f2e3d4c");
  EXPECT_EQ(lineage_of("memory://b/runs/1/export", runs)->upstream.steps.size(), 1U);
}

TEST_F(Version1, IsGoneOnWithOnce) {
  auto second = start();
  const auto resumed_from = [this](const Result<RunRecorder>& recorder) {
    return read_run(root, recorder->run_id())->start.resumed_from;
  };
  EXPECT_EQ(resumed_from(second), "20261121-032600-1f2e3d4c");
  ASSERT_TRUE(second->finish({}, {}));
  EXPECT_EQ(resumed_from(start()), "");
}

TEST_F(Version1, IsNeverWrittenAgain) {
  auto recorder = start();
  ASSERT_TRUE(recorder->finish({}, {}));
  const auto objects = list_all(*root.store, "_headrace/runs/v2/");
  EXPECT_EQ(objects->size(), 2U);
  for (const ObjectInfo& object : *objects) {
    const auto read = read_object(*root.store, object.key, 1 << 20);
    EXPECT_THAT(to_string(read->data), testing::HasSubstr(R"("version":2,)"));
  }
  EXPECT_EQ(list_version_1_runs(root, 10)->runs.size(), 1U);
}

TEST_F(Version1, DamageIsTold) {
  write("end", std::string(kVersion1End).replace(20, 1, "x"));
  EXPECT_EQ(read_run(root, "20261121-032600-1f2e3d4c").error().code, Code::kDataLoss);
  EXPECT_EQ(list_runs(root, 10)->damaged.size(), 1U);
}

}  // namespace
}  // namespace headrace
