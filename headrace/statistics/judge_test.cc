#include <gmock/gmock.h>

#include <cmath>

#include "headrace/base/text.h"
#include "headrace/statistics/dataset_report.h"

namespace headrace {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

Feature number(std::string name, double value) {
  return {.name = std::move(name), .values = std::vector<float>{static_cast<float>(value)}};
}
Feature label(std::int64_t id) { return {.name = "label", .values = std::vector<std::int64_t>{id}}; }

// Splits whose record i is what `record` says.
class Judge : public testing::Test {
 protected:
  template <typename Record>
  void add_split(const std::string& name, std::uint64_t count, Record record) {
    SplitStatistics& split = report.splits[name].statistics;
    for (std::uint64_t i = 0; i < count; ++i) split.add(record(i), report.vocabularies, i);
    split.finish();
  }
  const std::vector<std::string>& warnings() {
    judge(report);
    return report.warnings;
  }
  DatasetReport report{.vocabularies = {{"label", {"cat", "dog"}}}};
};

TEST_F(Judge, HasNothingToSayOfSplitsThatAreAlike) {
  add_split("train", 1'000, [](auto i) { return std::vector{label(i % 2), number("x", std::sin(i))}; });
  add_split("test", 400, [](auto i) { return std::vector{label(i % 2), number("x", std::sin(i + 0.5))}; });
  EXPECT_THAT(warnings(), IsEmpty());
  ASSERT_EQ(report.distances.size(), 2);
  EXPECT_EQ(report.distances[0].feature, "label");
  EXPECT_EQ(report.distances[0].distance, 0);
  EXPECT_LT(report.distances[1].distance, 0.05);
}

TEST_F(Judge, MeasuresHowSplitsDiffer) {
  add_split("train", 1'000, [](auto i) { return std::vector{label(i % 2), number("x", i)}; });
  add_split("test", 1'000, [](auto i) { return std::vector{label(i % 4 == 0), number("x", i + 500.5)}; });
  EXPECT_THAT(warnings(), Contains(HasSubstr("label differs between train and test: by 25 %")));
  EXPECT_NEAR(report.distances[0].distance, 0.25, 1e-12);
  EXPECT_EQ(report.distances[0].where, "cat");
  EXPECT_NEAR(report.distances[1].distance, 0.5, 0.002);
  EXPECT_TRUE(report.distances[1].is_notable);
}

TEST_F(Judge, DoesNotTakeChanceInFewRecordsForADifference) {
  add_split("train", 1'000, [](auto i) { return std::vector{label(i % 2), number("x", i)}; });
  add_split("test", 10, [](auto i) { return std::vector{label(i < 7), number("x", 100.3 * i + 0.25)}; });
  EXPECT_THAT(warnings(), IsEmpty());
  EXPECT_NEAR(report.distances[0].distance, 0.2, 1e-12);
}

TEST_F(Judge, SaysNothingOfASplitThatWasNotRead) {
  report.splits["train"].statistics.features["label"];
  add_split("test", 5, [](auto i) { return std::vector{label(i % 2), number("x", i)}; });
  judge(report);
  EXPECT_THAT(report.distances, IsEmpty());
  EXPECT_THAT(dataset_report_to_json(report).dump(), testing::HasSubstr("\"read\":0"));
}

TEST_F(Judge, NamesLabelsThatAreMissingOrRare) {
  add_split("train", 220, [](auto i) { return std::vector{label(i % 22 == 0), number("x", i)}; });
  add_split("test", 5, [](auto i) { return std::vector{label(0), number("x", i + 0.5)}; });
  EXPECT_THAT(warnings(), Contains("test: no record has the label \"dog\""));
  EXPECT_THAT(report.warnings, Contains("train: \"cat\" is the label of 210 records, \"dog\" of 10"));
}

TEST_F(Judge, NamesConstantsNumbersThatAreNotFiniteDuplicatesAndWhatIsShared) {
  add_split("train", 10, [](auto i) { return std::vector{number("c", 7), number("x", i % 5)}; });
  add_split("test", 2, [](auto i) { return std::vector{number("c", 7), number("x", i == 0 ? NAN : 1)}; });
  report.attributes.counts["rejected"] = 3;
  EXPECT_THAT(warnings(), Contains("3 rows were rejected"));
  EXPECT_THAT(report.warnings, Contains("train: c is the same in all records"));
  EXPECT_THAT(report.warnings, Contains("train: 5 records have the content of another one"));
  EXPECT_THAT(report.warnings, Contains("test: 1 number of x is not finite"));
  EXPECT_THAT(report.warnings, Contains("1 record of test has the content of one of train"));
}

TEST_F(Judge, SpeaksOfOneRowAsOne) {
  add_split("train", 2, [](auto) { return std::vector{number("x", 3)}; });
  report.attributes.counts["rejected"] = 1;
  EXPECT_THAT(warnings(), Contains("1 row was rejected"));
  EXPECT_THAT(report.warnings, Contains("train: 1 record has the content of another one"));
}

}  // namespace
}  // namespace headrace
