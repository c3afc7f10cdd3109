#include "headrace/sweep/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/codec/deflate.h"
#include "headrace/record/example.h"
#include "headrace/record/index.h"
#include "headrace/record/manifest.h"
#include "headrace/record/tfrecord.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/sweep/shared_ids.h"
#include "headrace/sweep/subsets.h"
#include "tests/interleave/tiny_engine.h"

namespace headrace {
namespace {

constexpr std::size_t kTrainRecords = 160;
constexpr std::size_t kRareFrom = 150;  // class 1 is in the records from here on alone
constexpr std::size_t kTinyBatch = 8;

class SweepTest : public testing::Test {
 protected:
  SweepTest()
      : store(make_memory_store("test")),
        work((std::filesystem::temp_directory_path() / concat("headrace-sweep-test-", ::getpid())).string()),
        tracer(interleave::tiny_tracer(work + "/traces")) {
    publish_data();
  }
  ~SweepTest() override { std::filesystem::remove_all(work); }

  Location at(const std::string& key) const { return {store, key, Url{"memory", "test", key}}; }

  SweepOptions options(std::size_t sizes = 4, std::size_t seeds = 2) const {
    SweepOptions out{.sizes = sizes, .seeds = seeds, .look_each = std::chrono::milliseconds(5)};
    out.training = {.data_version = 1,
                    .epochs = 2,
                    .batch_size = kTinyBatch,
                    .validation = 0,
                    .seed = 1,
                    .memory_budget_bytes = 1 << 20};
    return out;
  }

  Result<SweepResult> measure(
      const SweepOptions& with, const OnSweep& on_progress = [](const SweepProgress&) {},
      const std::stop_token& stop = {}) {
    const TrainEnvironment surroundings = train_environment();
    const Actor actor = this_process("learning-curve", "r", environment.now());
    return measure_sweep(at("data"), at("curve"), with, surroundings, actor, on_progress, stop);
  }

  TrainEnvironment train_environment() {
    return {.engine = engine,
            .trace = trace,
            .environment = environment,
            .temporary_folder = work,
            .tracer = [this](const TraceRequest& request) {
              ++traces;
              return tracer(request);
            }};
  }

  Result<Strata> strata_of(const std::string& label, const TrainOptions& training) {
    HEADRACE_TRY(ReadStrata read, read_strata(at("data"), label, training, train_environment(), {}));
    return std::move(read.strata);
  }

  // The least memory with which all records can be trained on.
  std::uint64_t least_memory(TrainOptions training) {
    const auto plan = plan_training(at("data"), training, train_environment(), {});
    EXPECT_TRUE(plan) << plan.error().message;
    std::uint64_t low = 0, high = 1 << 24;
    while (plan && low + 1 < high) {
      training.memory_budget_bytes = (low + high) / 2;
      const Status fits =
          check_training_memory(at("data"), training, plan->model.binding, train_environment(), {});
      (fits ? high : low) = training.memory_budget_bytes;
    }
    return high;
  }

  void remove_scores() {
    for (const std::string& object : objects("curve/scores/"))
      ASSERT_TRUE(remove_object(*store, key_in(object)));
  }

  static std::string key_in(const std::string& object) { return object.substr(0, object.find(' ')); }

  std::vector<std::string> objects(const std::string& folder) const {
    std::vector<std::string> out;
    const auto found = list_all(*store, folder);
    for (const ObjectInfo& object : *found) out.push_back(object.key + " " + object.version.token);
    return out;
  }

  static std::vector<std::map<std::string, double>> metrics_of(const SweepResult& result) {
    std::vector<std::map<std::string, double>> out;
    for (const Score& score : result.scores) out.push_back(score.metrics);
    return out;
  }

  std::shared_ptr<Store> store;
  const std::string work;
  const std::function<Result<TracedModel>(const TraceRequest&)> tracer;
  interleave::TinyEngine engine;
  const TraceOptions trace{};
  const Environment environment{};
  std::atomic<int> traces = 0;
  std::size_t leaked_records = 0;  // so many records of the test split have the id of one for training

  // `damaged`: a record of the test split that is not an example. `of_both`: a record for training that has
  // both classes. `damaged_too`: a record for training that is not an example.
  void publish_data(std::optional<std::size_t> damaged = {}, std::optional<std::size_t> of_both = {},
                    std::optional<std::size_t> damaged_too = {}) {
    Manifest manifest{.kind = "dataset", .created_by = "run", .plan = "p"};
    DatasetAttributes with{.compression = "gzip", .labels = {"common", "rare"}};
    with.vocabularies = {{"label", {"common", "rare"}}};
    with.features = {{"x", {"float32", std::vector<std::int64_t>{4}}},
                     {"label", {"int64", std::vector<std::int64_t>{2}}},
                     {"number", {"int64", std::vector<std::int64_t>{}}},
                     {"tenth", {"int64", std::vector<std::int64_t>{}}},
                     {"parity", {"int64", std::vector<std::int64_t>{}}},
                     {"most", {"int64", std::vector<std::int64_t>{}}},
                     {"id", {"bytes", std::vector<std::int64_t>{}}}};
    add_shard("train", kTrainRecords, manifest, with, damaged_too, of_both);
    add_shard("test", 40, manifest, with, damaged);
    manifest.attributes_json = dataset_attributes_to_json(with);
    ASSERT_TRUE(write_text(*store, "data/_headrace/manifest-00000001", serialize_manifest(manifest)));
  }

 private:
  void add_shard(const std::string& split, std::size_t count, Manifest& manifest, DatasetAttributes& with,
                 std::optional<std::size_t> damaged = {}, std::optional<std::size_t> of_both = {}) {
    ShardIndexBuilder builder(ShardEncoding::kGzip);
    Bytes framed;
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_rare = split == "test" ? i % 2 == 1 : i >= kRareFrom;
      const float value = static_cast<float>(i % 7) - 3;
      ExampleBuilder example;
      const std::vector<float> x = {value, is_rare ? 1.0F : -1.0F, 0.5F, -value};
      const std::vector<std::int64_t> label = {is_rare ? 0 : 1, is_rare || i == of_both ? 1 : 0};
      example.add_floats("x", x);
      example.add_int64s("label", label);
      const std::vector<std::int64_t> number = {static_cast<std::int64_t>(i)};
      example.add_int64s("number", number);
      // One class of 144 records, and 16 of one.
      const std::vector<std::int64_t> tenth = {static_cast<std::int64_t>(i % 10 == 0 ? 1 + i / 10 : 0)};
      const std::vector<std::int64_t> parity = {static_cast<std::int64_t>(i % 2)};
      example.add_int64s("tenth", tenth);
      example.add_int64s("parity", parity);
      if (i != 3) example.add_int64s("most", parity);
      const std::string id =
          split == "test" && i < leaked_records ? concat("train", 2 * i) : concat(split, i);
      example.add_bytes("id", as_bytes(id));
      Bytes bytes;
      example.append_to(bytes);
      if (i == damaged) bytes[0] = std::byte{0xff};
      builder.add_record(bytes.size());
      append_record(framed, bytes);
    }
    Bytes data;
    builder.add_member(GzipCompressor::create(1)->append_member(framed, data), framed.size());
    const auto index = std::move(builder).finish(data.size(), crc32c(data));
    ASSERT_TRUE(store->write("data/" + split, data, {}));
    ASSERT_TRUE(store->write("data/" + split + ".index", index->serialize(), {}));
    manifest.parts.push_back({.key = split,
                              .size_bytes = data.size(),
                              .crc32c = crc32c(data),
                              .role = "shard",
                              .split = split,
                              .records = count,
                              .index = split + ".index",
                              .blocks = index->blocks()});
    manifest.parts.push_back(
        {.key = split + ".index", .size_bytes = index->serialize().size(), .role = "index"});
    with.splits[split] = {.records = count, .labels = {{"common", 1}, {"rare", 1}}};
  }
};

TEST_F(SweepTest, ScoresEachSizeWithEachSeed) {
  SweepProgress last;
  const auto result = measure(options(), [&](const SweepProgress& at) { last = at; });
  ASSERT_TRUE(result) << result.error().message;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> measured;
  for (const Score& score : result->scores) measured.emplace_back(score.records, score.seed);
  EXPECT_THAT(measured,
              testing::ElementsAre(testing::Pair(160, 1), testing::Pair(160, 2), testing::Pair(80, 1),
                                   testing::Pair(80, 2), testing::Pair(40, 1), testing::Pair(40, 2),
                                   testing::Pair(20, 1), testing::Pair(20, 2)));
  EXPECT_EQ(result->trained, 8U);
  EXPECT_EQ(result->scores.front().epochs, 2U);
  EXPECT_EQ(result->scores.front().metrics.count("accuracy"), 1U);
  EXPECT_NE(result->scores[0].metrics, result->scores[1].metrics) << "seeds differ";
  EXPECT_EQ(last.scores, 8U);
  EXPECT_EQ(last.records, last.total_records);
  EXPECT_EQ(last.total_records, 2U * 2 * (160 + 80 + 40 + 20));
  EXPECT_EQ(traces, 2) << "one trace for each seed";
  EXPECT_EQ(objects("curve/scores/").size(), 8U);
  EXPECT_THAT(objects("curve/leases/"), testing::IsEmpty());
}

TEST_F(SweepTest, ASecondCallOnlyAdds) {
  const auto first = measure(options(3, 2));
  ASSERT_TRUE(first) << first.error().message;
  const std::vector<std::string> before = objects("curve/scores/");
  const auto again = measure(options(3, 2));
  EXPECT_EQ(again->trained, 0U);
  EXPECT_EQ(metrics_of(*again), metrics_of(*first));
  EXPECT_EQ(objects("curve/scores/"), before);
  const auto more = measure(options(4, 3));
  EXPECT_EQ(more->trained, 6U) << "a third seed, and one more size of two";
  EXPECT_THAT(objects("curve/scores/"), testing::IsSupersetOf(before));
}

TEST_F(SweepTest, AnythingThatDecidesAScoreMakesItAnotherOne) {
  ASSERT_TRUE(measure(options(1, 1)));
  SweepOptions other = options(1, 1);
  other.training.epochs = 3;
  EXPECT_EQ(measure(other)->trained, 1U);
  other = options(1, 1);
  other.training.balance = "label";
  EXPECT_EQ(measure(other)->trained, 1U);
  other = options(1, 1);
  other.training.memory_budget_bytes *= 2;
  EXPECT_EQ(measure(other)->trained, 0U) << "this does not decide it";
}

TEST_F(SweepTest, TwoAtOnceShareTheWorkAndAgree) {
  std::vector<Result<SweepResult>> results(2, Error{Code::kUnknown, ""});
  {
    std::vector<std::jthread> both;
    for (auto& result : results) both.emplace_back([&] { result = measure(options(4, 3)); });
  }
  ASSERT_TRUE(results[0] && results[1]);
  EXPECT_EQ(results[0]->trained + results[1]->trained, 12U) << "nothing is trained twice while leases hold";
  EXPECT_EQ(metrics_of(*results[0]), metrics_of(*results[1]));
  EXPECT_EQ(objects("curve/scores/").size(), 12U);
  EXPECT_THAT(objects("curve/leases/"), testing::IsEmpty());
}

TEST_F(SweepTest, OneThatStallsWhileItTrainsReadsTheScoresThatOthersHaveCreated) {
  SweepOptions stalled = options(3, 1);
  stalled.at_once = 1;
  SweepOptions hasty = options(3, 1);
  hasty.leases.stale_after = std::chrono::milliseconds(0);  // takes over whatever is leased
  std::optional<Result<SweepResult>> other;
  std::vector<std::string> created;
  const auto result = measure(stalled, [&](const SweepProgress& at) {
    if (other || at.records == 0) return;
    other = measure(hasty);
    created = objects("curve/scores/");
  });
  ASSERT_TRUE(other && *other) << "it has run while the first one stood still";
  EXPECT_EQ((*other)->trained, 3U);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(metrics_of(*result), metrics_of(**other));
  EXPECT_EQ(result->scores.front().seconds, (*other)->scores.front().seconds) << "of the score that is there";
  EXPECT_EQ(objects("curve/scores/"), created) << "nothing was replaced";
}

TEST_F(SweepTest, TheLeaseOfAKilledProcessIsTakenOver) {
  ASSERT_TRUE(measure(options(1, 1)));
  // Its lease is the one that a process holds which is killed when it has trained half of it.
  std::string lease;
  ASSERT_TRUE(remove_object(*store, key_in(objects("curve/scores/").front())));
  ASSERT_TRUE(measure(options(1, 1), [&](const SweepProgress& at) {
    const auto held = objects("curve/leases/");
    if (at.records > 0 && at.scores == 0 && lease.empty()) lease = key_in(held.at(0));
  }));
  ASSERT_TRUE(remove_object(*store, key_in(objects("curve/scores/").front())));
  ASSERT_TRUE(write_text(*store, lease, "a killed process 3\n"));
  SweepOptions patient = options(1, 1);
  patient.leases.stale_after = std::chrono::milliseconds(50);
  const auto result = measure(patient);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->trained, 1U);
  EXPECT_THAT(objects("curve/leases/"), testing::IsEmpty());
}

TEST_F(SweepTest, OneThatIsStoppedGoesOnLaterToTheSameScores) {
  std::stop_source stop;
  SweepOptions one_by_one = options(4, 1);
  one_by_one.at_once = 1;
  const auto stopped = measure(
      one_by_one,
      [&](const SweepProgress& at) {
        if (at.scores == 2) stop.request_stop();
      },
      stop.get_token());
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::kCancelled);
  EXPECT_EQ(objects("curve/scores/").size(), 2U);
  const auto rest = measure(one_by_one);
  ASSERT_TRUE(rest) << rest.error().message;
  EXPECT_EQ(rest->trained, 2U);
  for (const std::string& object : objects("curve/")) ASSERT_TRUE(remove_object(*store, key_in(object)));
  EXPECT_EQ(metrics_of(*measure(one_by_one)), metrics_of(*rest));
}

TEST_F(SweepTest, SaysWhichSubsetLacksAClass) {
  const auto result = measure(options(4, 2));
  ASSERT_TRUE(result) << result.error().message;
  // Seed 1 begins at the front, where only the common class is; seed 2 has the records at the end.
  ASSERT_EQ(result->remarks.size(), 1U);
  EXPECT_THAT(result->remarks.front(),
              testing::HasSubstr("the smallest subset of seed 1, 20 records, has none of the class rare"));
}

TEST_F(SweepTest, ACallThatFindsAllScoresReadsNoRecord) {
  for (const char* const stratify : {"", "label"}) {
    SweepOptions with = options(4, 2);
    with.stratify = stratify;
    const auto first = measure(with);
    ASSERT_TRUE(first) << first.error().message;
    for (const char* const object : {"data/train", "data/test", "data/train.index", "data/test.index"}) {
      const auto size_bytes = store->stat(object, {})->size_bytes;
      ASSERT_TRUE(store->write(object, Bytes(size_bytes), {})) << "no record can be read any more";
    }
    const auto again = measure(with);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->trained, 0U);
    EXPECT_EQ(metrics_of(*again), metrics_of(*first));
    EXPECT_EQ(again->remarks, first->remarks) << "also about a class that a subset lacks";
    publish_data();
  }
}

TEST_F(SweepTest, StratifiedSubsetsHaveEachClassInItsShare) {
  SweepOptions with = options(4, 2);
  with.stratify = "label";
  const auto result = measure(with);
  ASSERT_TRUE(result) << result.error().message;
  std::vector<std::uint64_t> sizes;
  for (const Score& score : result->scores) sizes.push_back(score.records);
  EXPECT_THAT(sizes, testing::ElementsAre(160, 160, 80, 80, 41, 41, 20, 20))
      << "150 + 10, 75 + 5, 38 + 3, 19 + 1";
  EXPECT_THAT(result->remarks, testing::IsEmpty()) << "no class is missing";
  const auto ranges = measure(options(4, 2));
  ASSERT_TRUE(ranges) << ranges.error().message;
  EXPECT_EQ(ranges->trained, 6U) << "all records are the same subset";
  EXPECT_NE(ranges->scores.back().metrics, result->scores.back().metrics);
  for (const std::string& object : objects("curve/")) ASSERT_TRUE(remove_object(*store, key_in(object)));
  with.at_once = 1;
  EXPECT_EQ(metrics_of(*measure(with)), metrics_of(*result));
  with.training.class_weights = "balanced";
  EXPECT_EQ(measure(with)->trained, 8U) << "their labels are counted before";
}

TEST_F(SweepTest, ASelectionIsNeitherForASubsetNorForKeras) {
  TrainOptions training = options().training;
  training.selection = std::make_shared<const RecordSelection>(RecordSelection{"some", {1, 2}});
  const auto planned = [&] { return plan_training(at("data"), training, train_environment(), {}); };
  EXPECT_TRUE(planned());
  training.loop = TrainLoop::kKeras;
  EXPECT_THAT(planned().error().message, testing::HasSubstr("is for the native loop"));
  training.loop = TrainLoop::kNative;
  training.subset = RecordRange{0, 20};
  EXPECT_THAT(planned().error().message, testing::HasSubstr("the selection some"));
  EXPECT_EQ(planned().error().code, Code::kInvalidArgument);
}

TEST_F(SweepTest, DividesTheTrainingPartIntoClasses) {
  TrainOptions training = options().training;
  const Result<Strata> strata = strata_of("label", training);
  ASSERT_TRUE(strata) << strata.error().message;
  EXPECT_THAT(strata->counts(), testing::ElementsAre(150, 10));
  std::vector<std::uint64_t> all = strata->select(stratified_ranges(strata->counts(), 160, 1)), larger = all;
  for (const std::uint64_t size : {80, 40, 20}) {
    const auto selected = strata->select(stratified_ranges(strata->counts(), size, 1));
    EXPECT_THAT(larger, testing::IsSupersetOf(selected));
    const auto rare = static_cast<std::size_t>(
        std::ranges::count_if(selected, [](std::uint64_t number) { return number >= kRareFrom; }));
    EXPECT_EQ(rare, stratum_sizes(strata->counts(), size)[1]);
    EXPECT_EQ(selected.back(), 159U) << "of this seed, from the end of each class";
    larger = selected;
  }
  training.validation = 0.04;
  EXPECT_THAT(strata_of("label", training)->counts(), testing::ElementsAre(150, 4)) << "without validation";
}

TEST_F(SweepTest, AStratifiedSubsetThatDoesNotFitIsRefusedBeforeAnythingIsTrained) {
  SweepOptions with = options(4, 1);
  with.stratify = "label";
  with.training.batch_size = 512;  // more than labels are read with
  const std::uint64_t strata_bytes = kTrainRecords * 4, selection_bytes = kTrainRecords / 2 * 8;
  // Enough for the strata and all records, but not for half of them with their numbers.
  with.training.memory_budget_bytes = least_memory(with.training) + strata_bytes + selection_bytes / 2;
  const auto refused = measure(with);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("--stratify label: the classes of the records"));
  EXPECT_THAT(refused.error().message, testing::HasSubstr("training on 80 records"));
  EXPECT_THAT(objects("curve/"), testing::IsEmpty()) << "nothing was trained";
}

TEST_F(SweepTest, SaysWhichStratifiedSubsetsHaveAnotherSize) {
  SweepOptions with = options(3, 2);
  with.stratify = "tenth";
  const auto result = measure(with);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->scores[2].records, 72U + 16) << "not more than a tenth off";
  EXPECT_EQ(result->scores.back().records, 36U + 16);
  EXPECT_THAT(result->remarks,
              testing::ElementsAre(testing::HasSubstr("--stratify tenth: the subset of 40 records has 52")))
      << "once, not for each seed";
}

TEST_F(SweepTest, AClassMayBeMissingFromASubsetThatIsStratifiedByAnotherLabel) {
  SweepOptions with = options(4, 1);
  with.stratify = "parity";
  const auto result = measure(with);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_THAT(result->remarks, testing::ElementsAre(testing::HasSubstr(
                                   "none of the class rare: its score also counts how often "
                                   "that class is missed; give --stratify label or")));
}

TEST_F(SweepTest, WhichClassIsMissingDoesNotDependOnTheCallThatTrained) {
  const std::string remark = "the smallest subset of seed 1, 40 records, has none of the class rare";
  ASSERT_THAT(measure(options(3, 1))->remarks, testing::ElementsAre(testing::HasSubstr(remark)));
  const auto more = measure(options(4, 1));
  EXPECT_THAT(more->remarks, testing::ElementsAre(testing::HasSubstr("subset of seed 1, 20 records")))
      << "of this call's smallest size alone";
  remove_scores();
  ASSERT_TRUE(measure(options(4, 1)));
  const auto fewer = measure(options(3, 1));
  EXPECT_EQ(fewer->trained, 0U);
  EXPECT_THAT(fewer->remarks, testing::ElementsAre(testing::HasSubstr(remark)));
}

TEST_F(SweepTest, LabelsThatCannotBeReadAreFoundBeforeAModelIsTrained) {
  SweepOptions narrow = options(1, 1);
  // Enough to train with, but labels are read in larger batches.
  narrow.training.memory_budget_bytes = least_memory(narrow.training);
  std::uint64_t done = 0;
  const auto result = measure(narrow, [&](const SweepProgress& at) { done = at.records; });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kResourceExhausted);
  EXPECT_EQ(done, 0U);
}

TEST_F(SweepTest, NoStratifiedScoreIsKeptWhileTheClassOfARecordIsUnknown) {
  SweepOptions lenient = options(4, 1);
  lenient.training.on_corrupt = CorruptionPolicy::kSkipRecord;
  const auto measured = [&](const std::string& label) {
    lenient.stratify = label;
    remove_scores();
    const auto result = measure(lenient);
    EXPECT_TRUE(result) << result.error().message;
    return result ? result->remarks : std::vector<std::string>();
  };
  const std::string remark = ": 1 records are damaged or have no such label";
  EXPECT_THAT(measured("most"), testing::Contains(testing::HasSubstr("--stratify most" + remark)))
      << "record 3 is whole, but has no such label";
  EXPECT_EQ(objects("curve/scores/").size(), 1U) << "the one of all records, which is not stratified";
  publish_data({}, {}, 77);
  EXPECT_THAT(measured("label"), testing::Contains(testing::HasSubstr("--stratify label" + remark)));
  EXPECT_THAT(objects("curve/scores/"), testing::IsEmpty())
      << "also of the subsets that have no damaged record";
}

TEST_F(SweepTest, RefusesToStratifyByWhatIsNoClass) {
  const auto refused = [&](const std::string& label) {
    SweepOptions with = options(4, 1);
    with.stratify = label;
    const auto result = measure(with);
    EXPECT_FALSE(result);
    return result ? Error{} : result.error();
  };
  EXPECT_EQ(refused("colour").code, Code::kInvalidArgument);
  EXPECT_THAT(refused("colour").message, testing::HasSubstr("colour"));
  EXPECT_THAT(refused("id").message, testing::HasSubstr("is not a class"));
  EXPECT_THAT(refused("x").message, testing::HasSubstr("record 0 of"));
  EXPECT_THAT(refused("number").message,
              testing::HasSubstr("160 classes, and the smallest size is 20 records"));
  publish_data({}, 7);
  EXPECT_THAT(refused("label").message, testing::HasSubstr("record 7 of"));
  EXPECT_THAT(refused("label").message, testing::HasSubstr("is not a class; name a label"));
  TrainOptions narrow = options().training;
  narrow.memory_budget_bytes = 1'000;
  EXPECT_EQ(strata_of("label", narrow).error().code, Code::kResourceExhausted);
  EXPECT_THAT(objects("curve/"), testing::IsEmpty()) << "nothing was trained";
}

TEST_F(SweepTest, SaysWhichSizesWereStillLearning) {
  SweepOptions short_ones = options(2, 1);
  short_ones.training.validation = 0.2;
  short_ones.training.epochs = 1;
  const auto result = measure(short_ones);
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_FALSE(result->remarks.empty());
  EXPECT_THAT(result->remarks.back(), testing::HasSubstr("with more --epochs these errors would be smaller"));
}

TEST_F(SweepTest, RefusesWhatGivesNoCurve) {
  SweepOptions leaking = options();
  leaking.test_split = "train";
  EXPECT_THAT(measure(leaking).error().message, testing::HasSubstr("on records that were learnt"));
  EXPECT_THAT(measure(options(6, 1)).error().message, testing::HasSubstr("give fewer --sizes"));
  SweepOptions absent = options();
  absent.test_split = "holdout";
  EXPECT_THAT(measure(absent).error().message, testing::HasSubstr("holdout"));
  EXPECT_THAT(objects("curve/"), testing::IsEmpty());
}

TEST_F(SweepTest, AScoreOfDamagedDataIsNotKept) {
  publish_data(7);
  SweepOptions lenient = options(1, 1);
  lenient.training.on_corrupt = CorruptionPolicy::kSkipRecord;
  const auto result = measure(lenient);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->scores.size(), 1U);
  EXPECT_THAT(result->remarks, testing::Contains(testing::HasSubstr("is not kept")));
  EXPECT_THAT(objects("curve/scores/"), testing::IsEmpty());
}

TEST_F(SweepTest, RefusesADamagedScore) {
  ASSERT_TRUE(measure(options(1, 1)));
  const std::string object = objects("curve/scores/").front();
  ASSERT_TRUE(write_text(*store, key_in(object), "{}\n"));
  const auto refused = measure(options(1, 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kDataLoss);
}

TEST_F(SweepTest, ATestRecordThatIsTrainedOnIsRefusedBeforeAnythingIsTrained) {
  leaked_records = 3;
  publish_data();
  const auto refused = measure(options());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_THAT(refused.error().message, testing::AllOf(testing::HasSubstr("3 ids of the test split"),
                                                      testing::HasSubstr("train0, record 0")));
  EXPECT_THAT(objects("curve/scores/"), testing::IsEmpty());
}

TEST_F(SweepTest, IdsOfTheTestSplitHaveABudget) {
  const auto test = Dataset::open(at("data"), {.split = "test"}),
             training = Dataset::open(at("data"), {.split = "train"});
  ASSERT_TRUE(test && training);
  LoaderOptions reading;
  reading.memory_budget_bytes = 2 * 40 * sizeof(std::uint64_t) - 1;
  const Status refused = check_ids_apart(*training, *test, reading);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("raise --memory"));
}

}  // namespace
}  // namespace headrace
