#include "headrace/stream/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "headrace/stream/small_dataset_test.h"

namespace headrace {
namespace {

using testing::HasSubstr;

TEST_F(LoaderTest, GivesEveryRecordOncePerEpoch) {
  for (const std::uint64_t member_records : {0, 7}) {
    publish({50, 31, 1, 77}, member_records);
    LoaderOptions with = options();
    with.epochs = 3;
    with.threads = 3;
    const auto batches = batches_of(open(), with);
    ASSERT_EQ(batches.size(), 30U);
    std::map<std::int64_t, int> seen;
    for (const auto& batch : batches) {
      for (const std::int64_t id : batch) ++seen[id];
    }
    EXPECT_EQ(seen[-1], 3);  // 159 records in 10 batches of 16: one place a epoch is padding
    seen.erase(-1);
    EXPECT_EQ(seen.size(), 159U);
    for (const auto& [id, times] : seen) EXPECT_EQ(times, 3) << id;
  }
}

class LoaderOrderTest : public LoaderTest, public testing::WithParamInterface<ShuffleMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, LoaderOrderTest,
                         testing::Values(ShuffleMode::kNone, ShuffleMode::kWindow, ShuffleMode::kExact));

TEST_P(LoaderOrderTest, IsThatOfTheOrderFunctionWhateverTheThreads) {
  publish({50, 31, 1, 77}, 7, true);
  const auto dataset = open();
  LoaderOptions with = options();
  with.shuffle = GetParam();
  const auto expected = batches_of(dataset, with);
  auto loader = make_loader(dataset, with);
  ASSERT_TRUE(loader);
  const std::vector<std::uint64_t> starts = {0, 50, 81, 82};
  for (std::uint64_t b = 0; b < expected.size(); ++b) {
    std::vector<std::int64_t> ids;
    const auto places = (*loader)->where(0, b, {});
    for (const RecordPlace& place : *places) {
      const auto shard = static_cast<std::size_t>(place.object.back() - '0');
      ids.push_back(static_cast<std::int64_t>(starts[shard] + place.record));
    }
    ids.resize(16, -1);
    EXPECT_EQ(expected[b], ids);
  }
  for (const int threads : {2, 5}) {
    with.threads = threads;
    EXPECT_EQ(batches_of(dataset, with), expected);
  }
}

TEST_P(LoaderOrderTest, ResumesAtAnyBatchAtAnyWorldSize) {
  publish({64, 64, 30}, 5, true);
  const auto dataset = open();
  LoaderOptions with = options();
  with.shuffle = GetParam();
  with.epochs = 2;
  with.threads = 2;
  const auto expected = batches_of(dataset, with);
  auto first = make_loader(dataset, with);
  ASSERT_TRUE(first);
  for (std::uint64_t start = 0; start <= expected.size(); ++start) {
    const std::string state = (*first)->state(start / 10, start % 10);
    EXPECT_LT(state.size(), 1000U);
    const auto position = parse_loader_state(state, {{.dataset = dataset}}, with);
    ASSERT_TRUE(position) << position.error().message;
    EXPECT_EQ(batches_of_ranks({{.dataset = dataset}}, with, *position, 1 + start % 5),
              std::vector(expected.begin() + static_cast<std::ptrdiff_t>(start), expected.end()))
        << "from " << start;
  }
}

TEST_F(LoaderTest, ARangeIsATrimmedDataSet) {
  publish({50, 50}, 7);
  const auto dataset = open();
  LoaderOptions validation = options();
  validation.shuffle = ShuffleMode::kNone;
  std::set<std::int64_t> seen;
  for (const auto& batch : batches_of(dataset, options(), RecordRange{0, 73}))
    seen.insert(batch.begin(), batch.end());
  for (const auto& batch : batches_of(dataset, validation, RecordRange{73, 27}))
    seen.insert(batch.begin(), batch.end());
  seen.erase(-1);
  EXPECT_EQ(seen.size(), 100U);
  EXPECT_EQ(batches_of(dataset, validation, RecordRange{73, 27}).front().front(), 73);
  EXPECT_THAT(make_loader(dataset, options(), RecordRange{50, 51}).error().message,
              HasSubstr("which has 100"));
}

TEST_F(LoaderTest, DroppingTheRemainderGivesFullBatchesOnly) {
  publish({50, 50}, 7);
  LoaderOptions with = options();
  with.drop_remainder = true;
  with.epochs = 2;
  const auto batches = batches_of(open(), with);
  EXPECT_EQ(batches.size(), 12U);
  for (const auto& batch : batches) EXPECT_EQ(std::count(batch.begin(), batch.end(), -1), 0);
}

TEST_F(LoaderTest, CorruptRecordsFailOrLeaveHolesThatShiftNothing) {
  publish({50, 50}, 0);
  const auto expected = batches_of(open(), options());
  auto object = read_object(*store, "data/train-00000", 1 << 20);
  ASSERT_TRUE(object);
  const auto index = ShardIndex::parse(read_object(*store, "data/train-00000.index", 1 << 20)->data);
  object->data[index->record_offset(20) + 30] ^= std::byte{1};  // data of record 20
  object->data[index->record_offset(33) + 2] ^= std::byte{1};   // length of record 33
  ASSERT_TRUE(store->write("data/train-00000", object->data, {}));

  auto failing = make_loader(open(), options());
  ASSERT_TRUE(failing);
  std::string message;
  while (message.empty()) {
    auto batch = (*failing)->next();
    if (!batch) message = batch.error().message;
    ASSERT_TRUE(!batch || *batch) << "the epoch ended without an error";
  }
  EXPECT_THAT(message, HasSubstr("memory://test/data/train-00000"));

  LoaderOptions skipping = options();
  skipping.on_corrupt = CorruptionPolicy::kSkipRecord;
  auto loader = make_loader(open(), skipping);
  ASSERT_TRUE(loader);
  auto with_holes = expected;
  for (auto& batch : with_holes) {
    for (std::int64_t& id : batch) id = id == 20 || id == 33 ? -1 : id;
  }
  EXPECT_EQ(drain(**loader), with_holes);
  EXPECT_EQ((*loader)->stats().corrupt_records, 2U);
  EXPECT_EQ((*loader)->remarks().size(), 2U);

  skipping.epochs = 3;
  auto longer = make_loader(open(), skipping);
  drain(**longer);
  EXPECT_EQ((*longer)->stats().corrupt_records, 6U);
  EXPECT_EQ((*longer)->remarks().size(), 2U) << "each record is named once";
}

TEST_F(LoaderTest, AFailureComesAfterTheSameBatchesEveryTime) {
  publish({300}, 0, true);
  const auto expected = batches_of(open(), options());
  auto object = read_object(*store, "data/train-00000", 1 << 20);
  const auto index = ShardIndex::parse(read_object(*store, "data/train-00000.index", 1 << 20)->data);
  object->data[index->record_offset(150) + 30] ^= std::byte{1};
  ASSERT_TRUE(store->write("data/train-00000", object->data, {}));
  std::set<std::pair<std::size_t, std::string>> ends;
  for (int i = 0; i < 20; ++i) {
    LoaderOptions with = options();
    with.threads = 1 + i % 5;
    auto loader = make_loader(open(), with);
    Result<std::optional<Batch>> batch = std::optional<Batch>();
    std::size_t count = 0;
    for (; (batch = (*loader)->next()) && *batch; ++count) {
      const float first_row = reinterpret_cast<const float*>((*batch)->column(0))[0];
      EXPECT_EQ(static_cast<std::int64_t>(first_row), expected[count][0]);
    }
    ASSERT_FALSE(batch);
    ends.emplace(count, batch.error().message);
    EXPECT_EQ((*loader)->next().error().message, batch.error().message) << "it stays";
  }
  EXPECT_EQ(ends.size(), 1U);
  EXPECT_GT(ends.begin()->first, 0U);
}

// If one window holds all blocks of a dataset, the next epoch uses them again, whether they are damaged or
// not.
TEST_F(LoaderTest, AFailureStaysOneWhenBlocksAreUsedAgain) {
  publish({20, 20}, 0);
  auto object = read_object(*store, "data/train-00001", 1 << 20);
  object->data[40] ^= std::byte{1};
  ASSERT_TRUE(store->write("data/train-00001", object->data, {}));
  const auto dataset = open();
  LoaderOptions with = options();
  with.window_bytes = 1 << 20;
  with.batch_size = 40;
  with.epochs = 10;
  with.threads = 4;
  for (int i = 0; i < 1000; ++i) {
    const auto batch = (*make_loader(dataset, with))->next();
    ASSERT_FALSE(batch);
    EXPECT_EQ(batch.error().code, Code::kDataLoss);
  }
}

TEST_F(LoaderTest, ADamagedMemberIsAHoleForItsRecordsOnly) {
  publish({50, 50}, 10);
  auto object = read_object(*store, "data/train-00001", 1 << 20);
  const auto index = ShardIndex::parse(read_object(*store, "data/train-00001.index", 1 << 20)->data);
  object->data[index->members()[2].compressed_offset + 40] ^= std::byte{4};
  ASSERT_TRUE(store->write("data/train-00001", object->data, {}));
  LoaderOptions skipping = options();
  skipping.on_corrupt = CorruptionPolicy::kSkipRecord;
  auto loader = make_loader(open(), skipping);
  std::set<std::int64_t> seen;
  for (const auto& batch : drain(**loader)) seen.insert(batch.begin(), batch.end());
  seen.erase(-1);
  EXPECT_EQ(seen.size(), 90U);
  EXPECT_FALSE(seen.contains(70) || seen.contains(79));
  EXPECT_TRUE(seen.contains(69) && seen.contains(80));
  const ShardMember& member = index->members()[2];
  ASSERT_EQ((*loader)->remarks().size(), 1U);
  EXPECT_THAT(
      (*loader)->remarks()[0],
      HasSubstr(concat("train-00001: records 20–29, in the member at bytes ", member.compressed_offset, "–",
                       member.compressed_offset + member.compressed_bytes - 1, ": ")));
}

TEST_F(LoaderTest, AMissingShardIsAnErrorOrLeftOut) {
  publish({50, 50}, 7);
  ASSERT_TRUE(remove_object(*store, "data/train-00001"));
  const auto dataset = Dataset::open(location, {});
  ASSERT_FALSE(dataset);
  EXPECT_THAT(dataset.error().message, HasSubstr("memory://test/data/train-00001 is missing"));
  LoaderOptions skipping = options();
  skipping.on_corrupt = CorruptionPolicy::kSkipShard;
  std::set<std::int64_t> seen;
  for (const auto& batch : batches_of(open(CorruptionPolicy::kSkipShard), skipping))
    seen.insert(batch.begin(), batch.end());
  seen.erase(-1);
  EXPECT_EQ(seen.size(), 50U);
  const auto strict = make_loader(open(CorruptionPolicy::kSkipShard), options());
  ASSERT_FALSE(strict) << "its batches would have holes that nobody asked for";
  EXPECT_THAT(strict.error().message, AllOf(HasSubstr("train-00001 is missing or altered"),
                                            HasSubstr("the loader was given fail; give it skip-shard")));
}

TEST_F(LoaderTest, AMissingShardIsLeftOutInExactOrderToo) {
  publish({20, 20}, 7);
  ASSERT_TRUE(remove_object(*store, "data/train-00001"));
  ASSERT_TRUE(remove_object(*store, "data/train-00001.index"));
  LoaderOptions with = options();
  with.shuffle = ShuffleMode::kExact;
  with.on_corrupt = CorruptionPolicy::kSkipShard;
  std::multiset<std::int64_t> seen;
  for (const auto& batch : batches_of(open(CorruptionPolicy::kSkipShard), with))
    seen.insert(batch.begin(), batch.end());
  EXPECT_EQ(seen.count(-1), 20U + 8U) << "holes, and what fills the last batch up";
  for (std::int64_t id = 0; id < 20; ++id) EXPECT_EQ(seen.count(id), 1U);
}

TEST_F(LoaderTest, AnIndexOfNoUseIsMadeAnewWhereItIsNeeded) {
  for (const std::uint64_t member_records : {0, 7}) {
    publish({50, 30}, member_records);
    LoaderOptions exact = options();
    exact.shuffle = ShuffleMode::kExact;
    const auto expected = batches_of(open(), exact), in_windows = batches_of(open(), options());
    Bytes larger = read_object(*store, "data/train-00000.index", 1 << 20)->data;
    const Bytes other = read_object(*store, "data/train-00001.index", 1 << 20)->data;
    larger.push_back(std::byte{0});
    const std::vector<std::function<void(const std::string&)>> faults = {
        [&](const std::string& key) { ASSERT_TRUE(remove_object(*store, key)); },
        [&](const std::string& key) { ASSERT_TRUE(write_text(*store, key, "HRINDEX")); },
        [&](const std::string& key) { ASSERT_TRUE(store->write(key, larger, {})); },
        [&](const std::string& key) { ASSERT_TRUE(store->write(key, other, {})); }};
    for (const auto& fault : faults) {
      fault("data/train-00000.index");
      const auto dataset = open();
      ASSERT_TRUE(dataset);
      EXPECT_EQ(batches_of(dataset, options()), in_windows);
      auto loader = make_loader(dataset, exact);
      ASSERT_TRUE(loader) << loader.error().message;
      EXPECT_EQ(drain(**loader), expected);
      ASSERT_EQ((*loader)->remarks().size(), 1U);
      EXPECT_THAT((*loader)->remarks()[0], HasSubstr("memory://test/data/train-00000.index"));
      EXPECT_THAT((*loader)->remarks()[0], HasSubstr("rebuilt"));
    }
  }
}

TEST_F(LoaderTest, AnIndexIsNotMadeFromAnAlteredShard) {
  publish({50}, 7);
  ASSERT_TRUE(remove_object(*store, "data/train-00000.index"));
  Bytes altered = read_object(*store, "data/train-00000", 1 << 20)->data;
  altered[40] ^= std::byte{1};
  ASSERT_TRUE(store->write("data/train-00000", altered, {}));
  auto loader = make_loader(open(), options());
  ASSERT_TRUE(loader);
  const auto batch = (*loader)->next();
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().code, Code::kDataLoss);
  EXPECT_THAT(batch.error().message, HasSubstr("altered since it was published; restore it"));
}

TEST_F(LoaderTest, AManifestWithDamagedAttributesIsNamed) {
  const Manifest manifest{.kind = "dataset", .created_by = "run", .plan = "p"};
  ASSERT_TRUE(write_text(*store, "data/_headrace/manifest-00000001", serialize_manifest(manifest)));
  const auto dataset = Dataset::open(location, {});
  ASSERT_FALSE(dataset);
  EXPECT_THAT(dataset.error().message, HasSubstr("memory://test/data/_headrace/manifest-00000001"));
}

TEST_F(LoaderTest, ForeignFilesAreReadEachAsItIs) {
  ASSERT_TRUE(store->write("data/a", make_shard(0, 20, 6).data, {}));
  ASSERT_TRUE(store->write("data/b", make_shard(20, 20, 0).data, {}));  // lacks the others' GZIP
  ASSERT_TRUE(write_text(*store, "data/_SUCCESS", ""));
  const auto dataset = open();
  ASSERT_NE(dataset, nullptr);
  EXPECT_EQ(dataset->record_count(), 40U);
  std::set<std::int64_t> seen;
  for (const auto& batch : batches_of(dataset, options())) seen.insert(batch.begin(), batch.end());
  EXPECT_EQ(seen.size(), 41U);  // with −1
}

TEST_F(LoaderTest, SeveralPlacesAndPatternsAreOneDataSet) {
  for (const int i : {0, 1, 2}) {
    const WrittenShard shard = make_shard(20 * static_cast<std::uint64_t>(i), 20, i == 1 ? 6 : 0);
    ASSERT_TRUE(store->write(concat("data/train-", i), shard.data, {}));
  }
  ASSERT_TRUE(store->write("data/test-0", make_shard(1000, 5, 0).data, {}));
  const auto at = [&](const char* key) { return Location{store, key, Url{"memory", "test", key}}; };
  const auto pattern = Dataset::open(at("data/train-*"), {});
  ASSERT_TRUE(pattern) << pattern.error().message;
  EXPECT_EQ((*pattern)->record_count(), 60U);
  const auto places = Dataset::open({at("data/train-2"), at("data/train-[01]")}, {});
  ASSERT_TRUE(places);
  EXPECT_EQ((*places)->describe(), "memory://test/data/train-2 and 1 more");
  LoaderOptions with = options();
  with.shuffle = ShuffleMode::kNone;
  EXPECT_EQ(batches_of(*places, with).front().front(), 40);
  EXPECT_THAT(Dataset::open(at("data/x-*"), {}).error().message,
              HasSubstr("no object matches memory://test/data/x-*"));
  EXPECT_EQ(Dataset::open(std::vector<Location>{}, {}).error().code, Code::kInvalidArgument);
}

TEST_F(LoaderTest, TheIndexOfAForeignFileIsMadeOnce) {
  const Location cache{store, "cache", Url{"memory", "test", "cache"}};
  for (const std::uint64_t member_records : {0, 6}) {
    ASSERT_TRUE(store->write("data/a", make_shard(0, 20, member_records).data, {}));
    const auto first = Dataset::open(location, {.index_cache = cache});
    ASSERT_TRUE(first) << first.error().message;
    const auto kept = list_all(*store, "cache/");
    ASSERT_TRUE(kept);
    const auto second = Dataset::open(location, {.index_cache = cache});
    ASSERT_TRUE(second);
    EXPECT_EQ(batches_of(*first, options()), batches_of(*second, options()));
    const Bytes other = ShardIndex::parse(read_object(*store, kept->back().key, 1 << 20)->data)->serialize();
    ASSERT_TRUE(write_text(*store, kept->back().key, "damaged"));
    EXPECT_TRUE(Dataset::open(location, {.index_cache = cache}));
    EXPECT_EQ(read_object(*store, kept->back().key, 1 << 20)->data, other) << "it is made again";
    ASSERT_TRUE(remove_object(*store, kept->back().key));
  }
}

TEST_F(LoaderTest, ADamagedForeignFileIsReadOnBehindTheDamage) {
  Bytes data = make_shard(0, 40, 0).data;
  const ShardIndex index = make_shard(0, 40, 0).index;
  data[index.record_offset(5) + 30] ^= std::byte{1};  // data of record 5
  data[index.record_offset(20) + 3] ^= std::byte{1};  // length of record 20
  data[index.record_offset(21) + 3] ^= std::byte{1};  // and of the next: both are one hole
  data[index.record_offset(39) + 3] ^= std::byte{1};  // of the last
  ASSERT_TRUE(store->write("data/a", data, {}));
  EXPECT_EQ(Dataset::open(location, {}).error().code, Code::kDataLoss);
  const auto dataset = open(CorruptionPolicy::kSkipRecord);
  ASSERT_NE(dataset, nullptr);
  EXPECT_EQ(dataset->record_count(), 39U);
  EXPECT_EQ(dataset->remarks().size(), 3U);
  LoaderOptions with = options();
  with.on_corrupt = CorruptionPolicy::kSkipRecord;
  auto loader = make_loader(dataset, with);
  ASSERT_TRUE(loader) << loader.error().message;
  std::set<std::int64_t> seen;
  for (const auto& batch : drain(**loader)) seen.insert(batch.begin(), batch.end());
  seen.erase(-1);
  EXPECT_EQ(seen.size(), 36U);
  for (const std::int64_t lost : {5, 20, 21, 39}) EXPECT_FALSE(seen.contains(lost)) << lost;
  EXPECT_EQ((*loader)->stats().corrupt_records, 3U);
}

TEST_F(LoaderTest, OfACutForeignFileTheRecordsBeforeTheCutAreUsed) {
  for (const std::uint64_t member_records : {0, 6, 20}) {  // plain, several members, one
    Bytes data = make_shard(0, 20, member_records).data;
    data.resize(data.size() - (member_records == 0 ? 7 : 30));
    ASSERT_TRUE(store->write("data/a", data, {}));
    ASSERT_FALSE(Dataset::open(location, {}));
    const auto dataset = open(CorruptionPolicy::kSkipRecord);
    ASSERT_NE(dataset, nullptr);
    ASSERT_EQ(dataset->remarks().size(), 1U);
    const std::uint64_t used = dataset->record_count();
    EXPECT_GE(used, 15U);
    EXPECT_LT(used, 20U);
    EXPECT_THAT(dataset->remarks()[0], HasSubstr(concat("the ", used, " records before it are used")));
    LoaderOptions with = options();
    with.on_corrupt = CorruptionPolicy::kSkipRecord;
    auto loader = make_loader(dataset, with);
    ASSERT_TRUE(loader) << loader.error().message;
    std::set<std::int64_t> seen;
    for (const auto& batch : drain(**loader)) seen.insert(batch.begin(), batch.end());
    seen.erase(-1);
    EXPECT_EQ(seen.size(), used);
    EXPECT_EQ((*loader)->stats().corrupt_records, 0U);
  }
}

TEST_F(LoaderTest, BytesBehindTheLastRecordOfACompressedFileLoseNothingElse) {
  for (const std::size_t more : {1, 12, 15, 16, 100}) {
    Bytes plain = make_shard(0, 20, 0).data;
    plain.resize(plain.size() + more);
    ASSERT_TRUE(store->write("data/a", *gzip_compress(plain, 1), {}));
    LoaderOptions with = options();
    with.on_corrupt = CorruptionPolicy::kSkipRecord;
    std::set<std::int64_t> seen;
    for (const auto& batch : batches_of(open(CorruptionPolicy::kSkipRecord), with))
      seen.insert(batch.begin(), batch.end());
    seen.erase(-1);
    EXPECT_EQ(seen.size(), 20U) << more;
  }
}

TEST_F(LoaderTest, AsManyEpochsAsCanBeCountedAreNoEnd) {
  publish({50}, 7);
  LoaderOptions with = options();
  with.epochs = ~std::uint64_t{0};
  auto loader = make_loader(open(), with);
  ASSERT_TRUE(loader);
  EXPECT_TRUE(*(*loader)->next());
}

TEST_F(LoaderTest, AShapeThatNoColumnCanHaveFitsNone) {
  publish({50}, 7);
  auto text = read_object(*store, "data/_headrace/manifest-00000001", 1 << 20);
  auto manifest = parse_manifest(text->data);
  const std::string shape = concat("[", kWidth, "]");
  const std::size_t at = manifest->attributes_json.find(shape);
  for (const char* other : {"[-1,-8]", "[4294967296,4294967296]"}) {
    Manifest changed = *manifest;
    changed.attributes_json.replace(at, shape.size(), other);
    ASSERT_TRUE(write_text(*store, "data/_headrace/manifest-00000001", serialize_manifest(changed)));
    EXPECT_THAT(make_loader(open(), options()).error().message, HasSubstr("x is wanted as float32[8]"));
  }
}

TEST_F(LoaderTest, SaysWhatDoesNotFit) {
  publish({50}, 7);
  const auto dataset = open();
  const auto message = [&](const LoaderOptions& with) {
    const auto loader = make_loader(dataset, with);
    return loader ? std::string("made") : loader.error().message;
  };
  LoaderOptions with = options();
  with.columns[0].name = "sentence";
  EXPECT_THAT(
      message(with),
      HasSubstr(
          "has no feature sentence; it has: scores is float32[any], text is bytes, tokens is int64[any], "));
  with = options();
  with.columns[0].length = 9;
  EXPECT_THAT(message(with), HasSubstr("x is float32[8]"));
  with = options();
  with.rank = 2, with.world_size = 2;
  EXPECT_THAT(message(with), HasSubstr("rank 2"));
  with = options();
  with.memory_budget_bytes = 1000;
  EXPECT_THAT(message(with), HasSubstr("memory budget is 1.0 kB"));
  EXPECT_THAT(make_loader(dataset, options(), RecordRange{0, 0}).error().message,
              HasSubstr("has no records"));
  with = options();
  with.drop_remainder = true;
  with.batch_size = 51;
  EXPECT_THAT(message(with), HasSubstr("too few for one batch of 51"));
}

TEST_F(LoaderTest, AStateOfAnotherDataSetIsRefused) {
  publish({50}, 7);
  const auto before = open();
  const std::string state = (*make_loader(before, options()))->state(0, 1);
  publish({51}, 7);
  const auto position = parse_loader_state(state, {{.dataset = open()}}, options());
  ASSERT_FALSE(position);
  EXPECT_EQ(position.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(position.error().message,
              HasSubstr("another dataset or range: 50 records of memory://test/data there, 51 records of "
                        "memory://test/data here"));
  const std::string beyond = (*make_loader(before, options()))->state(0, 3);
  EXPECT_TRUE(parse_loader_state(beyond, {{.dataset = before}}, options()));
  std::string damaged = beyond;
  damaged.replace(damaged.find("\"batch\":3"), 9, "\"batch\":4");
  EXPECT_THAT(parse_loader_state(damaged, {{.dataset = before}}, options()).error().message,
              HasSubstr("batch 4 of an epoch that has 4"));
  LoaderOptions other = options();
  other.first_epoch = std::uint64_t{1} << 62;
  EXPECT_EQ(make_loader(before, other).error().code, Code::kInvalidArgument);
  other = options();
  other.batch_size = 8;
  EXPECT_THAT(parse_loader_state(state, {{.dataset = before}}, other).error().message,
              HasSubstr("has batch_size 16, but the loader has 8"));
}

TEST_F(LoaderTest, EndsAtOnceWhenItIsNoLongerWanted) {
  publish({500, 500, 500}, 7);
  LoaderOptions with = options();
  with.epochs = 1000;
  with.threads = 3;
  auto loader = make_loader(open(), with);
  ASSERT_TRUE(loader);
  Batch held = **(*loader)->next();
  loader->reset();
  EXPECT_EQ(held.rows, 16U);  // a batch outlives its loader
}

}  // namespace
}  // namespace headrace
