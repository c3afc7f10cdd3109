// Tests of balanced and bucketed orders in a loader. arrangement_test.cc tests the arrangements alone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "headrace/stream/small_dataset_test.h"

namespace headrace {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kRecords = 300;
constexpr std::uint64_t kShardRecords = 20;

std::int64_t class_of(std::int64_t id) { return id % 20 == 3 ? 1 : 0; }
std::int64_t kind_of(std::int64_t id) { return id % 10 == 7 ? 2 : id % 10 == 1 ? 0 : 1; }
std::int64_t length_of(std::int64_t id) { return id * id % 97; }

constexpr std::uint64_t kOddRecord = 45;

// Like `example`, but with a rare `class`, a one-hot `kind`, and `steps` of any length. kOddRecord has
// `classes` classes; if that is 0, it lacks both features.
Bytes skewed(std::uint64_t i, std::size_t classes) {
  const auto id = static_cast<std::int64_t>(i);
  std::vector<float> x(kWidth), kind(3);
  for (std::uint32_t c = 0; c < kWidth; ++c) x[c] = static_cast<float>(i) + 0.5F * static_cast<float>(c);
  kind[static_cast<std::size_t>(kind_of(id))] = 1;
  const std::vector<std::int64_t> y = {id, -id}, steps(static_cast<std::size_t>(length_of(id)), 1);
  const std::vector<std::int64_t> values(i == kOddRecord ? classes : 1, class_of(id));
  ExampleBuilder builder;
  builder.add_floats("x", x);
  builder.add_int64s("y", y);
  builder.add_int64s("steps", steps);
  if (!values.empty()) {
    builder.add_floats("kind", kind);
    builder.add_int64s("class", values);
  }
  Bytes out;
  builder.append_to(out);
  return out;
}

WindowArrangement by(ArrangementKind kind, std::string name, DataType type,
                     std::optional<std::uint32_t> length) {
  return {kind, {.name = std::move(name), .type = type, .length = length}};
}
const WindowArrangement kByClass = by(ArrangementKind::kBalance, "class", DataType::kInt64, 1);
const WindowArrangement kByKind = by(ArrangementKind::kBalance, "kind", DataType::kFloat32, 3);
const WindowArrangement kBySteps = by(ArrangementKind::kBucket, "steps", DataType::kInt64, std::nullopt);

using Batches = std::vector<std::vector<std::int64_t>>;

std::map<std::int64_t, std::uint64_t> times_of(const Batches& batches) {
  std::map<std::int64_t, std::uint64_t> times;
  for (const auto& batch : batches) {
    for (const std::int64_t id : batch) ++times[id];
  }
  times.erase(-1);
  return times;
}

std::int64_t spread_of(const Batches& batches) {
  std::int64_t spread = 0;
  for (const auto& batch : batches) {
    std::vector<std::int64_t> lengths;
    for (const std::int64_t id : batch) lengths.push_back(id < 0 ? length_of(batch.front()) : length_of(id));
    const auto [least, most] = std::ranges::minmax(lengths);
    spread += most - least;
  }
  return spread;
}

// kRecords records in files without a manifest; each file is one block.
class LoaderArrangementTest : public LoaderTest {
 protected:
  void write(std::size_t odd_classes = 1) {
    for (std::uint64_t first = 0; first < kRecords; first += kShardRecords) {
      Bytes data;
      for (std::uint64_t i = first; i < first + kShardRecords; ++i)
        append_record(data, skewed(i, odd_classes));
      ASSERT_TRUE(store->write(key_of(first), data, {}));
    }
  }

  static std::string key_of(std::uint64_t record) {
    return concat("data/part-", zero_padded(record / kShardRecords, 2));
  }

  void damage(std::uint64_t record) {
    auto object = read_object(*store, key_of(record), 1 << 20);
    std::uint64_t offset = 0;
    for (std::uint64_t i = record / kShardRecords * kShardRecords; i < record; ++i)
      offset += skewed(i, 1).size() + kRecordFramingBytes;
    object->data[offset + 30] ^= std::byte{1};
    ASSERT_TRUE(store->write(key_of(record), object->data, {}));
  }

  LoaderOptions with(const WindowArrangement& arrangement, ShuffleMode mode = ShuffleMode::kWindow,
                     std::uint64_t window_bytes = 40'000) const {
    LoaderOptions out = options();
    out.arrangement = arrangement;
    out.shuffle = mode;
    out.window_bytes = window_bytes;
    out.batch_size = 12;
    return out;
  }

  std::string first_error(const LoaderOptions& options) {
    auto loader = make_loader(open(), options);
    if (!loader) return loader.error().message;
    while (true) {
      const auto batch = (*loader)->next();
      if (!batch) return batch.error().message;
      if (!*batch) return "";
    }
  }
};

TEST_F(LoaderArrangementTest, BalanceGivesEachClassEquallyOftenAndAllRareRecords) {
  write();
  for (const ShuffleMode mode : {ShuffleMode::kWindow, ShuffleMode::kExact}) {
    std::map<std::int64_t, std::uint64_t> classes;
    const auto times = times_of(batches_of(open(), with(kByClass, mode)));
    for (const auto& [id, count] : times) classes[class_of(id)] += count;
    EXPECT_EQ(classes[0] + classes[1], kRecords);
    EXPECT_NEAR(static_cast<double>(classes[0]), static_cast<double>(classes[1]), 8) << "the windows' ends";
    for (std::int64_t id = 3; id < static_cast<std::int64_t>(kRecords); id += 20)
      EXPECT_TRUE(times.contains(id));
  }
  // Within a window, each batch has each class equally often.
  for (const auto& batch : batches_of(open(), with(kByKind, ShuffleMode::kWindow, 1 << 20))) {
    std::map<std::int64_t, std::uint64_t> kinds;
    for (const std::int64_t id : batch) ++kinds[kind_of(id)];
    EXPECT_EQ(kinds, (std::map<std::int64_t, std::uint64_t>{{0, 4}, {1, 4}, {2, 4}}));
  }
}

TEST_F(LoaderArrangementTest, BucketsHaveRecordsOfSimilarLengthEachOnce) {
  write();
  for (const ShuffleMode mode : {ShuffleMode::kWindow, ShuffleMode::kExact}) {
    LoaderOptions plain = with({}, mode);
    const std::int64_t before = spread_of(batches_of(open(), plain));
    const auto bucketed = batches_of(open(), with(kBySteps, mode));
    EXPECT_LT(spread_of(bucketed), before * 2 / 3);
    const auto times = times_of(bucketed);
    EXPECT_EQ(times.size(), kRecords);
    EXPECT_TRUE(std::ranges::all_of(times, [](const auto& each) { return each.second == 1; }));
  }
}

TEST_F(LoaderArrangementTest, EveryEpochHasAnOrderOfItsOwn) {
  write();
  for (const WindowArrangement& arrangement : {kByClass, kBySteps}) {
    LoaderOptions twice = with(arrangement, ShuffleMode::kWindow, 1 << 20);
    twice.epochs = 2;
    const auto batches = batches_of(open(), twice);
    const auto middle = batches.begin() + static_cast<std::ptrdiff_t>(batches.size() / 2);
    EXPECT_NE(Batches(batches.begin(), middle), Batches(middle, batches.end()));
  }
}

TEST_F(LoaderArrangementTest, ThreadsRanksAndResumingChangeNothing) {
  write();
  const auto dataset = open();
  for (const WindowArrangement& arrangement : {kByClass, kByKind, kBySteps}) {
    for (const auto& [mode, window_bytes] :
         std::vector<std::pair<ShuffleMode, std::uint64_t>>{{ShuffleMode::kWindow, 40'000},
                                                            {ShuffleMode::kWindow, 1 << 20},
                                                            {ShuffleMode::kExact, 40'000}}) {
      LoaderOptions options = with(arrangement, mode, window_bytes);
      options.epochs = 2;
      options.threads = 1;
      const auto expected = batches_of(dataset, options);
      options.threads = 4;
      EXPECT_EQ(batches_of(dataset, options), expected);
      auto loader = make_loader(dataset, options);
      ASSERT_TRUE(loader);
      for (std::uint64_t start = 0; start < expected.size(); start += 7) {
        const std::string state = (*loader)->state(start / 25, start % 25);
        const auto position = parse_loader_state(state, {{.dataset = dataset}}, options);
        ASSERT_TRUE(position) << position.error().message;
        EXPECT_EQ(batches_of_ranks({{.dataset = dataset}}, options, *position, 1 + start % 3),
                  Batches(expected.begin() + static_cast<std::ptrdiff_t>(start), expected.end()));
      }
    }
  }
}

// The second epoch uses the blocks of the first one again.
TEST_F(LoaderArrangementTest, AnEpochThatFitsAWindowIsArrangedAgainWithoutReadingAgain) {
  write();
  LoaderOptions options = with(kBySteps, ShuffleMode::kWindow, 1 << 20);
  options.epochs = 3;
  options.threads = 3;
  auto loader = make_loader(open(), options);
  const auto batches = drain(**loader);
  EXPECT_EQ((*loader)->stats().blocks, kRecords / kShardRecords);
  options.first_epoch = 2;
  EXPECT_EQ(batches_of(open(), options), Batches(batches.begin() + 50, batches.end()));
}

TEST_F(LoaderArrangementTest, WhereNamesTheRecordsOfABatch) {
  write();
  for (const ShuffleMode mode : {ShuffleMode::kWindow, ShuffleMode::kExact}) {
    for (const WindowArrangement& arrangement : {kByClass, kBySteps}) {
      LoaderOptions options = with(arrangement, mode);
      options.epochs = 2;
      auto loader = make_loader(open(), options);
      const auto batches = drain(**loader);
      for (const std::uint64_t b : {0, 24, 25, 26, 3}) {
        const auto places = (*loader)->where(b / 25, b % 25, {});
        ASSERT_TRUE(places) << places.error().message;
        std::vector<std::int64_t> ids;
        for (const RecordPlace& place : *places)
          ids.push_back(static_cast<std::int64_t>(place.shard * kShardRecords + place.record));
        EXPECT_EQ(ids, batches[b]);
      }
    }
  }
}

TEST_F(LoaderArrangementTest, HolesFailOrKeepTheirPlaces) {
  write();
  for (const std::uint64_t record : {43, 203}) damage(record);
  const auto dataset = open(CorruptionPolicy::kSkipRecord);
  for (const ShuffleMode mode : {ShuffleMode::kWindow, ShuffleMode::kExact}) {
    for (const WindowArrangement& arrangement : {kByClass, kBySteps}) {
      LoaderOptions options = with(arrangement, mode);
      auto failing = make_loader(dataset, options);
      Result<std::optional<Batch>> batch = std::optional<Batch>();
      while ((batch = (*failing)->next()) && *batch) continue;
      ASSERT_FALSE(batch);
      EXPECT_THAT(batch.error().message, HasSubstr("part-"));
      options.on_corrupt = CorruptionPolicy::kSkipRecord;
      auto loader = make_loader(dataset, options);
      const auto batches = drain(**loader);
      EXPECT_EQ((*loader)->stats().corrupt_records, 2U);
      std::int64_t holes = 0;
      for (const auto& ids : batches) holes += std::ranges::count(ids, -1);
      EXPECT_EQ(holes, 2);
      const auto times = times_of(batches);
      EXPECT_FALSE(times.contains(43) || times.contains(203));
      if (arrangement.kind == ArrangementKind::kBucket) {
        EXPECT_EQ(times.size(), kRecords - 2);
      }
      const auto places = (*loader)->where(0, 0, {});
      EXPECT_TRUE(places) << places.error().message;
    }
  }
}

TEST_F(LoaderArrangementTest, ARecordWithTwoClassesFailsOrKeepsItsPlace) {
  write(2);
  EXPECT_THAT(first_error(with(kByClass)),
              HasSubstr("balance: record 5 of memory://test/data/part-02: feature \"class\": not one class "
                        "number; correct it, or let such records keep their places"));
  LoaderOptions options = with(kByClass);
  options.on_corrupt = CorruptionPolicy::kSkipRecord;
  auto loader = make_loader(open(), options);
  EXPECT_EQ(times_of(drain(**loader)).at(kOddRecord), 1U) << "nothing else is wrong with it";
  ASSERT_EQ((*loader)->remarks().size(), 1U);
  EXPECT_THAT((*loader)->remarks().front(), HasSubstr("record 5 of memory://test/data/part-02"));
}

TEST_F(LoaderArrangementTest, ARecordThatLacksAnOptionalLabelFailsOrKeepsItsPlace) {
  write(0);
  for (const WindowArrangement& arrangement : {kByClass, kByKind}) {
    EXPECT_THAT(first_error(with(arrangement)),
                HasSubstr(concat("balance: record 5 of memory://test/data/part-02: feature \"",
                                 arrangement.feature.name,
                                 "\": the record does not have it; correct it, or let such records keep")));
    LoaderOptions options = with(arrangement);
    options.on_corrupt = CorruptionPolicy::kSkipRecord;
    auto loader = make_loader(open(), options);
    EXPECT_EQ(times_of(drain(**loader)).at(kOddRecord), 1U) << "it is of no class that is balanced";
    EXPECT_EQ((*loader)->remarks().size(), 1U);
  }
}

TEST_F(LoaderArrangementTest, AnErrorNamesTheRecordThatComesThere) {
  write(2);
  LoaderOptions options = with(kBySteps);
  options.columns.push_back({.name = "class", .type = DataType::kInt64, .length = 1});
  EXPECT_THAT(first_error(options), HasSubstr("record 5, at byte "));
  EXPECT_THAT(first_error(options), HasSubstr(" of memory://test/data/part-02"));
}

TEST_F(LoaderArrangementTest, AMixtureIsArrangedWithinEachSource) {
  write();
  const auto dataset = open();
  const std::vector<LoaderSource> sources = {
      {.dataset = dataset, .weight = 2, .range = RecordRange{0, 200}},
      {.dataset = dataset, .weight = 1, .range = RecordRange{200, 100}}};
  auto loader = BatchLoader::create(sources, with(kByClass, ShuffleMode::kWindow, 1 << 20));
  ASSERT_TRUE(loader) << loader.error().message;
  const auto batches = drain(**loader);
  for (const auto& batch : batches) {
    std::map<std::pair<bool, std::int64_t>, int> counts;
    for (const std::int64_t id : batch) ++counts[{id < 200, class_of(id)}];
    for (const std::int64_t value : {0, 1}) {
      EXPECT_NEAR((counts[{true, value}]), 4, 1);
      EXPECT_NEAR((counts[{false, value}]), 2, 1);
    }
  }
  const auto places = (*loader)->where(0, 5, {});
  std::vector<std::int64_t> ids;
  for (const RecordPlace& place : *places)
    ids.push_back(static_cast<std::int64_t>(place.shard * kShardRecords + place.record));
  EXPECT_EQ(ids, batches[5]);
}

TEST_F(LoaderArrangementTest, ASelectionIsArrangedAsItsRecordsAre) {
  write();
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    if (i % 3 != 1) numbers.push_back(i);
  }
  const LoaderSource from{
      .dataset = open(),
      .selection = std::make_shared<const RecordSelection>(RecordSelection{"two of three", numbers})};
  for (const ShuffleMode mode : {ShuffleMode::kWindow, ShuffleMode::kExact}) {
    for (const WindowArrangement& arrangement : {kByClass, kBySteps}) {
      const auto loader = BatchLoader::create({from}, with(arrangement, mode));
      ASSERT_TRUE(loader) << loader.error().message;
      const auto times = times_of(drain(**loader));
      std::uint64_t all = 0;
      for (const auto& [id, count] : times) {
        EXPECT_NE(id % 3, 1) << "it is not selected";
        all += count;
      }
      EXPECT_EQ(all, numbers.size());
      if (arrangement.kind == ArrangementKind::kBucket) {
        EXPECT_EQ(times.size(), numbers.size()) << "each once";
      }
    }
  }
}

TEST_F(LoaderArrangementTest, StatesOfAnotherArrangementAreRefused) {
  write();
  const auto dataset = open();
  const std::vector<LoaderSource> sources = {{.dataset = dataset}};
  std::vector<std::string> states;
  for (const WindowArrangement& arrangement : {WindowArrangement{}, kByClass, kByKind, kBySteps}) {
    states.push_back((*make_loader(dataset, with(arrangement)))->state(0, 3));
    for (const WindowArrangement& other : {WindowArrangement{}, kByClass, kByKind, kBySteps}) {
      const bool is_same = other.kind == arrangement.kind && other.feature.name == arrangement.feature.name;
      const auto position = parse_loader_state(states.back(), sources, with(other));
      EXPECT_EQ(position.has_value(), is_same);
      if (is_same) continue;
      EXPECT_EQ(position.error().code, Code::kFailedPrecondition);
    }
  }
  EXPECT_THAT(states[0], testing::Not(HasSubstr("balance")));
  EXPECT_THAT(states[0], HasSubstr(R"("order":2)")) << "an older reader continues it";
  for (const int i : {1, 2, 3})
    EXPECT_THAT(states[static_cast<std::size_t>(i)], HasSubstr(R"("order":3)")) << "and refuses these";
  EXPECT_THAT(states[1], HasSubstr(R"("balance":"class")"));
  EXPECT_THAT(states[3], HasSubstr(R"("bucket":"steps")"));
  EXPECT_THAT(parse_loader_state(states[1], sources, with(kBySteps)).error().message,
              HasSubstr("has balance \"class\", but the loader has null"));
}

TEST_F(LoaderArrangementTest, AnOrderWithoutOneIsTheSameInVersions2And3AndVersion1HasNone) {
  write();
  const std::vector<LoaderSource> sources = {{.dataset = open()}};
  LoaderOptions options = with({});
  const Batches batches = batches_of(sources[0].dataset, options);
  const std::string state = (*make_loader(sources[0].dataset, options))->state(0, 3);
  options.order_version = 2;
  EXPECT_EQ(order_version_of(state), 2);
  EXPECT_EQ(batches_of(sources[0].dataset, options), batches);
  EXPECT_EQ((*make_loader(sources[0].dataset, options))->state(0, 3), state);
  EXPECT_TRUE(parse_loader_state(state, sources, options));
  options = with(kByClass);
  options.order_version = 1;
  EXPECT_THAT(first_error(options), HasSubstr("balance by class needs version 3 of the order, not 1"));
}

TEST_F(LoaderArrangementTest, FeaturesThatCannotArrangeAreRefused) {
  publish({50}, 0);
  const auto dataset = open();
  const auto refusal = [&](ArrangementKind kind, const std::string& name) {
    const auto found = find_arrangement(*dataset, kind, name);
    return found ? "" : found.error().message;
  };
  EXPECT_THAT(refusal(ArrangementKind::kBalance, "tokns"),
              HasSubstr("no such feature; did you mean tokens?"));
  EXPECT_THAT(refusal(ArrangementKind::kBucket, "label"),
              HasSubstr("it has: scores, text, tokens, words, x, y"));
  EXPECT_THAT(refusal(ArrangementKind::kBalance, "text"),
              HasSubstr("balance by text: it is bytes; name a label"));
  EXPECT_THAT(refusal(ArrangementKind::kBalance, "tokens"), HasSubstr("it is int64[any]; name a label"));
  EXPECT_THAT(refusal(ArrangementKind::kBalance, "x"), HasSubstr("float32[8] without a vocabulary"));
  EXPECT_THAT(refusal(ArrangementKind::kBucket, "x"), HasSubstr("the same length in every record"));
  for (const std::string name : {"tokens", "scores", "words"})
    EXPECT_EQ(refusal(ArrangementKind::kBucket, name), "");

  LoaderOptions in_order = with(*find_arrangement(*dataset, ArrangementKind::kBucket, "words"));
  EXPECT_EQ(times_of(batches_of(dataset, in_order)).size(), 50U);
  in_order.shuffle = ShuffleMode::kNone;
  EXPECT_THAT(first_error(in_order), HasSubstr("bucket by words needs a shuffled order"));
  EXPECT_THAT(first_error(with(by(ArrangementKind::kBucket, "words", DataType::kInt64, std::nullopt))),
              HasSubstr("it is wanted as int64[any], but in memory://test/data it is bytes[any]"));
}

TEST_F(LoaderArrangementTest, WindowsCountTheMemoryOfTheirArrangement) {
  write();
  const auto memory = [&](ArrangementKind kind, ShuffleMode mode) {
    std::vector<std::string> remarks;
    return (*Source::create(open(), {.mode = mode, .arrangement = kind, .batch_size = 12}, {}, remarks))
        ->window_memory_bytes();
  };
  for (const ShuffleMode mode : {ShuffleMode::kWindow, ShuffleMode::kExact})
    EXPECT_GE(memory(ArrangementKind::kBucket, mode), memory(ArrangementKind::kNone, mode) + kRecords * 50);
}

}  // namespace
}  // namespace headrace
