#include "headrace/prepare/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/prepare/plan/published_dataset_test.h"
#include "headrace/prepare/source/rejects.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

const std::string kDigest(64, 'd');

TEST(NameTag, IsOfThePlanAndFromTheSecondGenerationOnOfBoth) {
  const std::string digest = "0123456789abcdef";
  EXPECT_EQ(name_tag(digest, 0), "01234567");
  EXPECT_EQ(name_tag(digest, 1), "01234567");
  EXPECT_EQ(name_tag(digest, 2), sha256_hex(as_bytes("0123456789abcdef 2")).substr(0, 8));
  EXPECT_NE(name_tag(digest, 2), name_tag(digest, 3));
}

class PlanConfiguration : public PublishedDatasetTest {
 protected:
  static Schema schema(std::string_view toml = "[features.n]\ntype = 'int64'\n") {
    return *parse_schema(toml, "test.toml");
  }
  static PreparePlan sample() {
    PreparePlan plan;
    plan.input = {.format = InputFormat::kTsv,
                  .url = "memory://test/in",
                  .objects = 3,
                  .size_bytes = 77,
                  .version = "v"};
    plan.schema = schema();
    return plan;
  }
  Result<PreparePlan> parse(const Configuration& configuration) {
    return parse_plan(configuration, {}, output());
  }
  // Why a configuration with this in place of one value is not a plan.
  std::string failure(const std::string& key, const std::optional<std::string>& value) {
    Configuration configuration = plan_configuration(sample());
    configuration.erase(key);
    if (value) configuration[key] = *value;
    const auto parsed = parse(configuration);
    return parsed ? "none" : concat(code_name(parsed.error().code), " ", parsed.error().message);
  }
};

TEST_F(PlanConfiguration, OfADefaultPlanIsAsDocumented) {
  Configuration configuration = plan_configuration(sample());
  EXPECT_NE(configuration["compressor"], "");
  configuration.erase("compressor");  // of this machine's libraries
  const Configuration expected = {{"stage", "prepare 6"},
                                  {"input", "memory://test/in"},
                                  {"input objects", "3"},
                                  {"input size", "77"},
                                  {"input version", "v"},
                                  {"layout", "tsv"},
                                  {"schema", schema_to_toml(schema())},
                                  {"shard-records", "0"},
                                  {"shard-size", "134217728"},
                                  {"slice-size", "67108864"},
                                  {"compression", "gzip"},
                                  {"compression-level", "6"},
                                  {"image codec", ""},
                                  {"seed", "44"},
                                  {"duplicates", "keep"},
                                  {"sample", "1"},
                                  {"splits-as-they-are", "false"},
                                  {"report", "changed"},
                                  {"max-cell", concat(kCellLimitBytes)},
                                  {"map", ""},
                                  {"map-version", ""},
                                  {"continues", ""}};
  EXPECT_EQ(configuration, expected);
}

TEST_F(PlanConfiguration, NamesLibrariesOnlyWhereTheyDecideBytes) {
  PreparePlan plan = sample();
  plan.compression = "none";
  EXPECT_EQ(plan_configuration(plan).at("compressor"), "");
  EXPECT_EQ(plan_configuration(plan).at("compression-level"), "");
  plan.schema = schema("[features.i]\ntype = 'image'\n");
  EXPECT_EQ(plan_configuration(plan).at("image codec"), "");
  plan.schema = schema("[features.i]\ntype = 'image'\nencode = 'png'\n[features.n]\ntype = 'int64'\n");
  EXPECT_NE(plan_configuration(plan).at("image codec"), "");
}

TEST_F(PlanConfiguration, IsReadAsThePlanThatItIsOf) {
  PreparePlan plan = sample();
  plan.seed = 45;
  plan.shard_records = 1000;
  plan.shard_bytes = 2000;
  plan.slice_bytes = 3000;
  plan.compression_level = 9;
  plan.duplicates = Duplicates::kReport;
  plan.sample = 0.25;
  plan.splits_as_they_are = true;
  plan.reports_all = true;
  plan.cell_limit_bytes = 4000;
  plan.map = "module:function";
  plan.map_version = "m1";
  plan.encoder_digests = {{"hash:8", "d8"}, {"hash:16", "d16"}};
  const Configuration configuration = plan_configuration(plan);
  EXPECT_EQ(configuration.at("encoder hash:8"), "d8");
  const auto read = parse_plan(configuration, {{.after = "a", .last = "b", .objects = 3}}, output());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->input.format, InputFormat::kTsv);
  EXPECT_EQ(read->input.url, "memory://test/in");
  EXPECT_EQ(read->input.objects, 3U);
  EXPECT_EQ(read->input.size_bytes, 77U);
  EXPECT_EQ(read->input.version, "v");
  ASSERT_EQ(read->input.slices.size(), 1U);
  EXPECT_EQ(read->input.slices[0].last, "b");
  EXPECT_EQ(read->seed, 45U);
  EXPECT_EQ(read->shard_records, 1000U);
  EXPECT_EQ(read->shard_bytes, 2000U);
  EXPECT_EQ(read->slice_bytes, 3000U);
  EXPECT_EQ(read->compression, "gzip");
  EXPECT_EQ(read->compression_level, 9);
  EXPECT_EQ(read->duplicates, Duplicates::kReport);
  EXPECT_EQ(read->sample, 0.25);
  EXPECT_TRUE(read->splits_as_they_are);
  EXPECT_TRUE(read->reports_all);
  EXPECT_EQ(read->cell_limit_bytes, 4000U);
  EXPECT_EQ(read->map, "module:function");
  EXPECT_EQ(read->map_version, "m1");
  EXPECT_THAT(read->encoder_digests, ElementsAre(Pair("hash:16", "d16"), Pair("hash:8", "d8")));
  EXPECT_EQ(read->base, nullptr);
  plan.compression = "none";
  plan.compression_level = 6;
  for (const Duplicates choice : {Duplicates::kKeep, Duplicates::kDrop}) {
    plan.duplicates = choice;
    const auto again = parse(plan_configuration(plan));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->duplicates, choice);
  }
}

TEST_F(PlanConfiguration, ThatIsDamagedSaysWhere) {
  for (const auto& [key, value] : plan_configuration(sample())) {
    if (key == "stage" || key == "compressor" || key == "image codec") continue;
    EXPECT_THAT(failure(key, std::nullopt),
                testing::StartsWith(key == "continues" ? "FAILED_PRECONDITION" : "DATA_LOSS"))
        << key;
  }
  EXPECT_THAT(failure("seed", std::nullopt), HasSubstr("the plan is damaged: it has no seed; start over"));
  EXPECT_THAT(failure("seed", "x"), HasSubstr("the plan is damaged: its seed is \"x\""));
  EXPECT_THAT(failure("seed", std::string(100, 'x')), HasSubstr(std::string(60, 'x')));
  EXPECT_THAT(failure("layout", "xls"), AllOf(HasSubstr("DATA_LOSS"), HasSubstr("no input format")));
  EXPECT_THAT(failure("schema", "x"), AllOf(HasSubstr("DATA_LOSS"), HasSubstr("the plan's schema")));
  Configuration two = plan_configuration(sample());
  two.erase("map");
  two["seed"] = "x";
  EXPECT_THAT(parse(two).error().message, HasSubstr("its seed is")) << "the first is told";
}

TEST_F(PlanConfiguration, OfAnotherVersionIsRefused) {
  for (const char* key : {"stage", "compressor", "image codec"})
    EXPECT_THAT(failure(key, "another"), HasSubstr("FAILED_PRECONDITION the plan was made by another"));
  EXPECT_THAT(failure("duplicates", "double"), HasSubstr("FAILED_PRECONDITION"));
  EXPECT_THAT(failure("a new option", "1"), HasSubstr("FAILED_PRECONDITION"));
}

TEST_F(PlanConfiguration, NamesTheDatasetThatThePlanContinues) {
  add_part("inputs", "_headrace/inputs/1", "");
  const std::uint64_t number = publish(plan_configuration(sample()));
  publish({{"stage", "prepare 6"}}, OwnershipAction::kContinue);
  for (const Continuation continuation : {Continuation::kAppend, Continuation::kRetryFailed}) {
    PreparePlan plan = sample();
    plan.continuation = continuation;
    plan.base = *read_base(output(), continuation, number);
    const Configuration configuration = plan_configuration(plan);
    const char* const name = continuation == Continuation::kAppend ? "append" : "retry-failed";
    EXPECT_EQ(configuration.at("continues"), concat(name, " ", number, " ", plan.base->digest));
    const auto read = parse(configuration);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->continuation, continuation);
    EXPECT_EQ(read->base->number, number);
    EXPECT_THAT(failure("continues", concat(name, " ", number, " ", kDigest)),
                HasSubstr("FAILED_PRECONDITION the plan was made by another"));
    EXPECT_THAT(failure("continues", concat(name, " 1000 ", kDigest)), HasSubstr("NOT_FOUND"));
  }
  for (const std::string& text :
       {concat("append ", number), concat("append x ", kDigest), concat("add ", number, " ", kDigest),
        concat("append 2 ", kDigest, " more")})
    EXPECT_THAT(failure("continues", text),
                AllOf(HasSubstr("DATA_LOSS"), HasSubstr(concat("it continues \"", text.substr(0, 40)))));
}

TEST_F(PlanConfiguration, IsThatOfThePublishedDatasetInAPlanToContinueIt) {
  const auto nothing = continue_plan(output(), Continuation::kAppend);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, Code::kNotFound);
  PreparePlan plan = sample();
  plan.seed = 9;
  add_part("inputs", "_headrace/inputs/1", "");
  const std::uint64_t number = publish(plan_configuration(plan));
  const auto more = continue_plan(output(), Continuation::kRetryFailed);
  ASSERT_TRUE(more) << more.error().message;
  EXPECT_EQ(more->seed, 9U);
  EXPECT_EQ(more->continuation, Continuation::kRetryFailed);
  EXPECT_EQ(more->base->number, number);
  EXPECT_EQ(more->input.url, "") << "the input comes with the command";
  publish({{"stage", "prepare 6"}}, OwnershipAction::kOverwrite);
  EXPECT_EQ(continue_plan(output(), Continuation::kAppend).error().code, Code::kDataLoss);
}

TEST_F(PlanConfiguration, WithoutOneADatasetIsNotContinued) {
  add_part("inputs", "_headrace/inputs/1", "");
  const Manifest manifest{.kind = std::string(kDatasetKind),
                          .parts = parts_,
                          .attributes_json = dataset_attributes_to_json({.compression = "none"})};
  put("out/_headrace/manifest-00000001", serialize_manifest(manifest));
  const auto more = continue_plan(output(), Continuation::kAppend);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(more.error().message,
              HasSubstr("memory://test/out was not made by headrace prepare: its plan is not there"));
}

TEST_F(PlanConfiguration, WorkLiesInAFolderOfItsOwnForEachTag) {
  EXPECT_EQ(work_folder(output(), "0123abcd").key, "out/_headrace/work/0123abcd");
}

TEST(PlanPasts, ARetryNeedsThemAndAnAppendToAFolderOfRows) {
  const Slice range{.last = "z"}, files{.files = {{.url = "a"}}};
  PreparePlan plan;
  EXPECT_FALSE(plan.needs_past(range) || plan.needs_past(files) || plan.retries());
  plan.continuation = Continuation::kAppend;
  EXPECT_TRUE(plan.needs_past(range));
  EXPECT_FALSE(plan.needs_past(files) || plan.retries());
  plan.continuation = Continuation::kRetryFailed;
  EXPECT_TRUE(plan.needs_past(range) && plan.needs_past(files) && plan.retries());
}

TEST(PlanSlices, AreReadAsTheyWereWritten) {
  const std::vector<Slice> slices = {
      {.files = {{"memory://test/a", 5, "v1"}, {"memory://test/b", 6, "v2"}}, .objects = 2, .size_bytes = 11},
      {.after = "a", .last = "b", .objects = 3, .size_bytes = 4, .digest = "d"},
      {.objects = 1, .name = "table://a#1", .place = std::string("\0\xff/", 3)},
      {.objects = 1, .name = "table://a#2"}};
  const auto read = parse_slices(slices_to_json({.slices = slices}));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 4U);
  ASSERT_EQ(read->at(0).files.size(), 2U);
  EXPECT_EQ(read->at(0).files[1].url, "memory://test/b");
  EXPECT_EQ(read->at(0).files[1].size_bytes, 6U);
  EXPECT_EQ(read->at(0).files[1].version, "v2");
  EXPECT_EQ(read->at(0).objects, 2U);
  EXPECT_EQ(read->at(0).size_bytes, 11U);
  EXPECT_TRUE(read->at(1).is_range_of_folder());
  EXPECT_EQ(read->at(1).after, "a");
  EXPECT_EQ(read->at(1).last, "b");
  EXPECT_EQ(read->at(1).digest, "d");
  EXPECT_FALSE(read->at(2).is_range_of_folder());
  EXPECT_EQ(read->at(2).name, "table://a#1");
  EXPECT_EQ(read->at(2).place, std::string("\0\xff/", 3));
  EXPECT_EQ(read->at(3).name, "table://a#2");
  EXPECT_EQ(read->at(3).place, "");
  EXPECT_EQ(
      slices_to_json({.slices = {slices[0]}}),
      R"([{"after":"","digest":"","files":[{"size_bytes":5,"url":"memory://test/a","version":"v1"},)"
      R"({"size_bytes":6,"url":"memory://test/b","version":"v2"}],"last":"","objects":2,"size_bytes":11}])"
      "\n")
      << "slices of stores are as they were";
  for (const char* text :
       {"", "{}x", R"([{"after":"a"}])", R"([{"after":1}])",
        R"([{"after":"","last":"","objects":0,"size_bytes":0,"digest":"","files":[],"place":"*"}])"}) {
    const auto damaged = parse_slices(text);
    ASSERT_FALSE(damaged) << text;
    EXPECT_EQ(damaged.error().code, Code::kDataLoss) << text;
  }
}

// Why a row may be retried; "none" if it may not.
std::string reason_of(const RejectedRows& rows, const RejectedRow& row) {
  const std::string* const reason = rows.find(row);
  return reason == nullptr ? "none" : *reason;
}

TEST(RejectedRowsOfAPast, AreThoseWhoseLastLineRejectsThemForThemselves) {
  RejectedRows rows;
  EXPECT_TRUE(rows.is_empty());
  const RejectedRow third{"file", 3, "a"}, fourth{"file", 4, "a"}, other{"other", 3, "a"};
  rows.take(third, "rejected", "bad");
  rows.take(fourth, "rejected", "bad");
  rows.take(fourth, "rejected", "worse");
  EXPECT_EQ(reason_of(rows, third), "bad");
  EXPECT_EQ(reason_of(rows, {"file", 3, "another id"}), "bad") << "a row of a file is named by its place";
  EXPECT_EQ(reason_of(rows, fourth), "worse");
  EXPECT_EQ(reason_of(rows, other), "none");
  EXPECT_TRUE(rows.has_source("file"));
  EXPECT_FALSE(rows.has_source("other"));
  for (const std::string_view reason : {kRepeatedId, kIdOfOtherSplit}) {
    rows.take(other, "rejected", "bad");
    rows.take(other, "rejected", reason);
    EXPECT_EQ(reason_of(rows, other), "none") << reason;
  }
  rows.take(third, "written", "");
  EXPECT_EQ(reason_of(rows, third), "none");
  EXPECT_FALSE(rows.is_empty());
  rows.take(fourth, "dropped", "bad");
  EXPECT_TRUE(rows.is_empty());
  EXPECT_TRUE(rows.has_source("file")) << "it had rejected rows once";
}

TEST(RejectedRowsOfAPast, ObjectsOfAFolderAreNamedByTheirIds) {
  RejectedRows rows;
  rows.take({"", 0, "a.jpg"}, "rejected", "bad");
  EXPECT_EQ(reason_of(rows, {"", 7, "a.jpg"}), "bad");
  EXPECT_EQ(reason_of(rows, {"", 0, "b.jpg"}), "none");
}

TEST(SlicePasts, AreReadAsTheyWereWritten) {
  SlicePast past;
  past.inputs.add("memory://test/a", "v1");
  past.inputs.settle();
  past.rejected.take({"file", 3, ""}, "rejected", "bad");
  past.rejected.take({"", 0, "b"}, "rejected", "worse");
  past.rejected.take({"", 0, "c"}, "rejected", "worse");
  SlicePast read;
  const Status status = read.read_json(past.to_json());
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(read.inputs.look("memory://test/a", "v1"), KnownInputs::Match::kSame);
  EXPECT_EQ(read.inputs.look("memory://test/a", "v2"), KnownInputs::Match::kChanged);
  EXPECT_EQ(read.inputs.look("memory://test/b", "v1"), KnownInputs::Match::kNew);
  EXPECT_EQ(reason_of(read.rejected, {"file", 3, ""}), "bad");
  EXPECT_EQ(reason_of(read.rejected, {"", 0, "b"}), "worse");
  EXPECT_EQ(reason_of(read.rejected, {"", 0, "c"}), "worse");
  EXPECT_EQ(reason_of(read.rejected, {"file", 4, ""}), "none");
  EXPECT_EQ(read.to_json(), past.to_json());
  for (const char* text :
       {"{", "{}", R"({"inputs":[[1]],"rejected":{}})", R"({"inputs":[],"rejected":{"bad":["x"]}})"}) {
    const Status damaged = SlicePast().read_json(text);
    ASSERT_FALSE(damaged) << text;
    EXPECT_EQ(damaged.error().code, Code::kDataLoss) << text;
  }
}

}  // namespace
}  // namespace headrace
