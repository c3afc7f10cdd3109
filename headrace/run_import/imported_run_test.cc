#include "headrace/run_import/imported_run.h"

#include <gmock/gmock.h>

#include "headrace/track/run_keys.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::StartsWith;

ImportedRun run_of(std::string identity) {
  return {.identity = std::move(identity), .source = "mlflow", .id = "4f0a"};
}

TEST(ImportedRun, ItsNamesAreAFunctionOfItsIdentityAndItsStart) {
  ImportedRun run = run_of("mlflow/4f0a");
  const std::string id = imported_run_id(run);
  EXPECT_THAT(id, StartsWith("mlflow-"));
  EXPECT_EQ(id.size(), 23U);
  EXPECT_TRUE(check_run_name(id));
  run.name = "renamed";
  run.place = "file:///elsewhere";
  EXPECT_EQ(imported_run_id(run), id);
  EXPECT_NE(imported_run_id(run_of("mlflow/4f0b")), id);
  run.started = std::chrono::milliseconds(1'700'000'000'123);
  const auto part = parse_part_name(imported_part_name(run));
  ASSERT_TRUE(part);
  EXPECT_EQ(part->rank, 0U);
  EXPECT_EQ(part->started_ms, 1'700'000'000'123U);
}

TEST(ImportedRun, HasALaterPartWhereTheSourceHasChanged) {
  ImportedRun run = run_of("mlflow/4f0a");
  run.started = std::chrono::milliseconds(1'700'000'000'123);
  run.state = "7 bytes";
  const std::string first = imported_part_name(run);
  run.place = "file:///elsewhere";
  run.remarks = {"one"};
  EXPECT_EQ(imported_part_name(run, {first}), first);
  run.state = "8 bytes";
  const std::string second = imported_part_name(run, {first});
  EXPECT_LT(second, first);  // readers take it for the later attempt
  EXPECT_EQ(parse_part_name(second)->started_ms, 1'700'000'000'124U);
  EXPECT_EQ(imported_part_name(run, {first, second}), second);
  run.parameters["lr"] = "0.1";
  EXPECT_LT(imported_part_name(run, {first, second}), second);
}

TEST(ImportedRun, AParamGivesWayToTheFactsOfTheImport) {
  ImportedRun run = run_of("mlflow/4f0a");
  run.name = "cnn-1";
  run.group = "cats";
  run.parameters = {{"lr", "0.1"}, {"name", "a param"}};
  run.tags = {{"team", "a"}};
  EXPECT_THAT(imported_parameters(run),
              ElementsAre(Pair("imported/from", "mlflow"), Pair("imported/group", "cats"),
                          Pair("imported/id", "4f0a"), Pair("lr", "0.1"), Pair("name", "cnn-1"),
                          Pair("params/name", "a param"), Pair("tags/team", "a")));
}

TEST(ImportedRun, TimesThatNoRecordCanHaveBecomeTheNearest) {
  using std::chrono::milliseconds;
  EXPECT_EQ(recordable_time(milliseconds(-5)).time_since_epoch().count(), 0);
  const auto last = recordable_time(milliseconds(std::int64_t{1} << 62));
  EXPECT_EQ(std::chrono::duration_cast<milliseconds>(last.time_since_epoch()).count(), 7'258'118'399'000);
}

TEST(ImportedRun, IsReadFromTheMessageOfAProgram) {
  const auto message = parse_json(R"({"identity":"wandb/a","source":"wandb","id":"a","name":"n","group":"g",
    "parameters":{"lr":"1"},"tags":{},"status":"failed","error":"exit code 1","started_ms":1000,
    "ended_ms":null,"metrics":{"loss":"NaN","best":0.5},"remarks":["one"],"state":"7 bytes"})");
  ASSERT_TRUE(message);
  const ImportedRun run = imported_run_from_json(*message);
  EXPECT_EQ(run.status, RunStatus::kFailed);
  EXPECT_EQ(run.started.count(), 1000);
  EXPECT_FALSE(run.ended);
  EXPECT_EQ(run.metrics.at("best"), 0.5);
  EXPECT_NE(run.metrics.at("loss"), run.metrics.at("loss"));
  EXPECT_THAT(run.remarks, ElementsAre("one"));
  EXPECT_EQ(run.state, "7 bytes");
  EXPECT_THROW(imported_run_from_json(Json::object()), JsonError);
}

}  // namespace
}  // namespace headrace
