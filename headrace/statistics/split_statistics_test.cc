#include "headrace/statistics/split_statistics.h"

#include <gmock/gmock.h>

#include <cmath>

#include "headrace/statistics/dataset_report.h"
#include "headrace/statistics/read_split.h"
#include "headrace/stream/small_dataset_test.h"

namespace headrace {
namespace {

class ReadSplit : public LoaderTest {
 protected:
  std::string described(const ReadSplitOptions& options) {
    DatasetReport report;
    auto statistics = read_split(*open(), {}, options);
    EXPECT_TRUE(statistics) << statistics.error().message;
    report.splits["train"].statistics = *std::move(statistics);
    judge(report);
    return dataset_report_to_json(report).dump();
  }
};

TEST_F(ReadSplit, IsTheSameOnAnyNumberOfThreads) {
  publish({95, 80}, 10, true);
  const std::string one = described({.threads = 1});
  EXPECT_EQ(described({.threads = 3}), one);
  EXPECT_EQ(described({.most_records = 50, .threads = 1}), described({.most_records = 50, .threads = 4}));
  EXPECT_NE(described({.most_records = 50}), one);
}

TEST_F(ReadSplit, TellsOfEachFeature) {
  publish({100}, 0);
  const auto split = read_split(*open(), {}, {});
  ASSERT_TRUE(split);
  EXPECT_EQ(split->records, 100);
  EXPECT_EQ(split->features.at("x").dtype, "float32");
  EXPECT_EQ(split->features.at("x").numbers.count(), 100 * kWidth);
  EXPECT_EQ(split->features.at("y").numbers.minimum(), -99);
  EXPECT_EQ(split->features.at("even").records, 50);
  EXPECT_EQ(split->features.at("even").values.count_of("42"), 1);
  EXPECT_EQ(split->features.at("text").texts, 100);
  EXPECT_EQ(split->features.at("words").lengths.maximum(), 3);
  EXPECT_EQ(split->duplicates(), 0);
}

TEST_F(ReadSplit, ReadsAShareOfTheRecords) {
  publish({95, 80}, 10, true);
  for (const auto& [share, most, expected] :
       {std::tuple(0.1, 1'000, 18), std::tuple(1.0, 7, 7), std::tuple(1.0, 1'000, 175)}) {
    const auto split =
        read_split(*open(), {}, {.most_records = static_cast<std::uint64_t>(most), .share = share});
    ASSERT_TRUE(split);
    EXPECT_EQ(split->records, expected);
    EXPECT_EQ(split->published_records, 175);
  }
}

TEST_F(ReadSplit, CountsDamageAndReadsOn) {
  publish({100}, 0);
  Bytes shard(store->stat("data/train-00000", {})->size_bytes);
  ASSERT_TRUE(store->read_into("data/train-00000", shard, {}));
  shard[shard.size() / 2] ^= std::byte{1};
  ASSERT_TRUE(store->write("data/train-00000", shard, {}));
  const auto split = read_split(*open(), {}, {});
  ASSERT_TRUE(split) << split.error().message;
  EXPECT_EQ(split->damaged, 1);
  EXPECT_EQ(split->records, 99);
}

TEST_F(ReadSplit, FindsDuplicatesWithinASplitAndBetweenSplits) {
  publish({20, 20}, 0);
  auto split = read_split(*open(), {}, {});
  publish({10}, 0, false, "other", 35);  // 35 to 44
  const auto other = read_split(*open(CorruptionPolicy::kFail, "other"), {}, {});
  ASSERT_TRUE(split && other);
  EXPECT_EQ(shared_contents(*other, *split), 5);
  split->merge(*other);
  split->finish();
  EXPECT_EQ(split->duplicates(), 5);
}

TEST_F(ReadSplit, ShowsRecordsThatItSampled) {
  publish({95, 80}, 10, true);
  const auto dataset = open();
  const auto split = read_split(*dataset, {}, {});
  ASSERT_TRUE(split);
  const auto samples = read_samples(*dataset, *split, 5, {});
  ASSERT_TRUE(samples) << samples.error().message;
  ASSERT_EQ(samples->size(), 5);
  for (const SampleRecord& sample : *samples) {
    ASSERT_EQ(sample.preview.texts.size(), 1 + (sample.record % 4 == 1 ? 1 : 0));
    EXPECT_THAT(sample.preview.texts[0].second,
                testing::StartsWith(concat("text of record ", sample.record)));
  }
}

Feature int64_feature(std::string name, std::vector<std::int64_t> values) {
  return {.name = std::move(name), .values = std::move(values)};
}

TEST(LabelOf, NamesIdsAndOneHotVectorsAndNothingElse) {
  const FeatureVocabularies vocabularies = {{"label", {"cat", "dog"}}};
  EXPECT_EQ(label_of(vocabularies, int64_feature("label", {1})), "dog");
  EXPECT_EQ(label_of(vocabularies, int64_feature("label", {1, 0})), "cat");
  for (const std::vector<std::int64_t>& none : {std::vector<std::int64_t>{2}, {-1}, {0, 0}, {0, 0, 1}, {}})
    EXPECT_EQ(label_of(vocabularies, int64_feature("label", none)), std::nullopt);
  EXPECT_EQ(label_of(vocabularies, int64_feature("other", {1})), std::nullopt);
  const auto float_label = [&](float value) {
    return label_of(vocabularies, {.name = "label", .values = std::vector<float>{value}});
  };
  EXPECT_EQ(float_label(1), "dog");
  EXPECT_EQ(float_label(std::nanf("")), std::nullopt);
  EXPECT_EQ(float_label(HUGE_VALF), std::nullopt);
}

TEST(SplitStatistics, BoundFeaturesAndValues) {
  SplitStatistics split;
  for (std::uint64_t record = 0; record < 2'000; ++record)
    split.add({int64_feature(concat("f", record % 300), {1}),
               int64_feature("x", {static_cast<std::int64_t>(record)})},
              {}, record);
  EXPECT_EQ(split.features.size(), SplitStatistics::kMaxFeatures);
  EXPECT_TRUE(split.has_more_features);
  EXPECT_FALSE(split.features.at("x").values.is_complete());
  EXPECT_TRUE(split.features.at("x").values.counts().empty());
}

}  // namespace
}  // namespace headrace
