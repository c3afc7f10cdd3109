#include "headrace/history/run_tables.h"

#include <gmock/gmock.h>

#include "headrace/base/text.h"
#include "headrace/record/event.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class RunTablesTest : public testing::Test {
 protected:
  Location table_place(std::string key) {
    return {store_, key, {.scheme = "memory", .authority = "b", .path = key}};
  }
  // A part with one event file, which has a table for each step.
  RunPart part(std::string folder, std::uint64_t rank, const std::vector<std::int64_t>& steps) {
    EventEncoder encoder;
    Bytes file;
    encoder.begin_file(file, 1, "test");
    encoder.scalar(file, {2, 0}, "loss", 0.5F);
    for (const std::int64_t step : steps)
      encoder.table(file, {2, step}, "labels",
                    concat(R"({"columns":["from"],"rows":[[")", folder, R"("]]})"));
    EXPECT_TRUE(store_->write(folder + "/events.out.tfevents.1", file, {}));
    RunPart out{.name = folder, .start = {}};
    out.start.rank = rank;
    out.so_far.series = {{"media", folder, "event_files"}, {"metrics", "elsewhere", "metric_segments"}};
    return out;
  }

  std::shared_ptr<Store> store_ = make_memory_store("b");
  HistorySource source_{
      .open = [this](const std::string& url) -> Result<Location> { return table_place(url); }};
};

TEST_F(RunTablesTest, TablesOfRanksAndStepsAreFoundAndALaterAttemptCounts) {
  RunRecord run;
  run.parts.push_back(part("late", 0, {2, 3}));
  run.parts.push_back(part("early", 0, {1, 2}));
  run.parts.push_back(part("other", 1, {2}));
  const auto tables = tables_of(run, source_);
  ASSERT_TRUE(tables) << tables.error().message;
  std::vector<std::string> seen;
  for (const RunTable& table : *tables) {
    const auto content = read_table(table);
    ASSERT_TRUE(content) << content.error().message;
    seen.push_back(
        concat(table.name, " ", table.rank, " ", table.step, " ", content->rows.at(0).at(0).text()));
  }
  EXPECT_THAT(seen,
              ElementsAre("labels 0 1 early", "labels 0 2 late", "labels 0 3 late", "labels 1 2 other"));
}

TEST_F(RunTablesTest, ARunWithoutMediaHasNone) {
  RunRecord run;
  run.parts.push_back({.name = "p", .start = {}});
  const auto tables = tables_of(run, source_);
  ASSERT_TRUE(tables);
  EXPECT_TRUE(tables->empty());
}

TEST(RunTables, OtherJsonIsRefused) {
  const auto content = parse_table(R"({"columns":["a","b"],"rows":[[1,"x"],[null,true]],"more":1})");
  ASSERT_TRUE(content) << content.error().message;
  EXPECT_THAT(content->columns, ElementsAre("a", "b"));
  EXPECT_EQ(content->rows.size(), 2U);
  for (const char* json : {"", "[]", R"({"columns":["a"]})", R"({"columns":["a"],"rows":[[1,2]]})",
                           R"({"columns":["a","a"],"rows":[]})", R"({"columns":["a"],"rows":[[[1]]]})",
                           R"({"columns":["a"],"rows":[1]})", R"({"columns":[1],"rows":[]})"}) {
    const auto refused = parse_table(json);
    ASSERT_FALSE(refused) << json;
    EXPECT_EQ(refused.error().code, Code::kDataLoss);
    EXPECT_THAT(refused.error().message, HasSubstr("not a table"));
  }
}

}  // namespace
}  // namespace headrace
