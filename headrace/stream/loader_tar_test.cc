#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "headrace/base/digest.h"
#include "headrace/codec/tar_builder_test.h"
#include "headrace/stream/record_finder.h"
#include "headrace/stream/small_dataset_test.h"

namespace headrace::loader_tar_test {
namespace {

using testing::HasSubstr;
using Rows = std::vector<std::string>;

// Sample i in the form in which a row shows it.
std::string key_of(std::uint64_t i) { return concat("some/", zero_padded(i, 6)); }
std::string text_of(std::uint64_t i) { return concat("text ", i, std::string(i % 7 * 300, '.')); }
std::string row_of(std::uint64_t i) { return concat(key_of(i), ' ', i % 10, ' ', text_of(i)); }

Rows rows_of(std::uint64_t first, std::uint64_t count) {
  Rows rows;
  for (std::uint64_t i = first; i < first + count; ++i) rows.push_back(row_of(i));
  return rows;
}

void add_sample(TarBuilder& tar, std::uint64_t i) {
  tar.file(key_of(i) + ".text", text_of(i)).file(key_of(i) + ".cls", concat(i % 10, '\n'));
}

Bytes make_tar(std::uint64_t first, std::uint64_t count, TarFormat format = TarFormat::kUstar) {
  TarBuilder tar(format);
  for (std::uint64_t i = first; i < first + count; ++i) add_sample(tar, i);
  return tar.finish();
}

// The offset at which sample i of such a tar begins.
std::uint64_t offset_of(std::uint64_t i) {
  TarBuilder tar;
  for (std::uint64_t before = 0; before < i; ++before) add_sample(tar, before);
  return tar.bytes.size();
}

class LoaderTarTest : public LoaderTest {
 protected:
  LoaderTarTest() {
    with.columns = {{.name = "__key__", .type = DataType::kBytes, .length = 1},
                    {.name = "cls", .type = DataType::kInt64, .length = 1},
                    {.name = "text", .type = DataType::kBytes, .length = 1}};
    with.batch_size = 16;
    with.seed = 44;
    with.window_bytes = 100'000;
  }

  void write(const std::string& key, const Bytes& data) { ASSERT_TRUE(store->write(key, data, {})); }

  void damage(const std::string& key, std::uint64_t offset) {
    auto object = read_object(*store, key, 1 << 30);
    object->data[offset] ^= std::byte{1};
    write(key, object->data);
  }

  // One string per row; "-" for a hole.
  Rows read(const std::vector<LoaderSource>& sources) {
    auto loader = BatchLoader::create(sources, with);
    EXPECT_TRUE(loader) << loader.error().message;
    Rows rows;
    while (loader) {
      const auto batch = (*loader)->next();
      EXPECT_TRUE(batch) << batch.error().message;
      if (!batch || !*batch) break;
      const auto text = [&](std::size_t column, std::uint64_t row) {
        const ColumnData data = (*batch)->data(column);
        return as_text({data.values + data.byte_offsets[row],
                        static_cast<std::size_t>(data.byte_offsets[row + 1] - data.byte_offsets[row])});
      };
      for (std::uint64_t row = 0; row < (*batch)->rows; ++row) {
        const auto* numbers = reinterpret_cast<const std::int64_t*>((*batch)->column(1));
        rows.push_back(
            (*batch)->weights()[row] == 0 ? "-" : concat(text(0, row), ' ', numbers[row], ' ', text(2, row)));
      }
    }
    return rows;
  }
  Rows read(std::shared_ptr<const Dataset> dataset) { return read({{.dataset = std::move(dataset)}}); }

  // In dataset order, without the rows that fill up the last batch.
  Rows read_in_order(CorruptionPolicy policy = CorruptionPolicy::kFail) {
    with.shuffle = ShuffleMode::kNone;
    with.on_corrupt = policy;
    const auto dataset = open(policy);
    if (dataset == nullptr) return {};
    Rows rows = read(dataset);
    rows.resize(dataset->record_count());
    return rows;
  }

  Error open_error() { return Dataset::open(location, {}).error(); }

  LoaderOptions with;
};

TEST_F(LoaderTarTest, SamplesAreRecordsInEveryFormatOfTar) {
  write("data/a.tar", make_tar(0, 30));
  write("data/b.tar", make_tar(30, 30, TarFormat::kGnu));
  write("data/c", make_tar(60, 1, TarFormat::kPax));
  EXPECT_EQ(read_in_order(), rows_of(0, 61));
  EXPECT_EQ(open()->shards()[2].record_count, 1U);
}

TEST_F(LoaderTarTest, EveryModeOfOrderGivesEachSampleOnceWithItsFiles) {
  for (const std::uint64_t i : {0, 1, 2, 3}) write(concat("data/", i, ".tar"), make_tar(50 * i, 50));
  const Rows expected = rows_of(0, 200);
  for (const ShuffleMode mode : {ShuffleMode::kWindow, ShuffleMode::kExact}) {
    with.shuffle = mode;
    with.batch_size = 20;
    Rows rows = read(open());
    EXPECT_NE(rows, expected);
    std::ranges::sort(rows);
    EXPECT_EQ(rows, expected);
  }
}

TEST_F(LoaderTarTest, ATarOfSeveralBlocksIsReadAsOne) {
  TarBuilder tar;
  const std::string large(3'000'000, 'x');
  for (std::uint64_t i = 0; i < 10; ++i) {
    add_sample(tar, i);
    tar.file(key_of(i) + ".bin", large);
  }
  write("data/a.tar", tar.finish());
  const auto dataset = open();
  ASSERT_NE(dataset, nullptr);
  EXPECT_EQ(dataset->blocks().size(), 4U);
  EXPECT_EQ(read_in_order(), rows_of(0, 10));
  with.columns.push_back({.name = "bin", .type = DataType::kBytes, .length = 1});
  auto loader = BatchLoader::create({{.dataset = dataset}}, with);
  ASSERT_TRUE(loader) << loader.error().message;
  const auto batch = (*loader)->next();
  ASSERT_TRUE(batch && *batch);
  const ColumnData data = (*batch)->data(3);
  EXPECT_EQ(data.byte_offsets[10], 30'000'000);
  EXPECT_TRUE(
      std::all_of(data.values, data.values + 30'000'000, [](std::byte b) { return b == std::byte{'x'}; }));
}

TEST_F(LoaderTarTest, ResumesAtAnyBatch) {
  write("data/a.tar", make_tar(0, 100));
  const auto dataset = open();
  with.batch_size = 10;
  for (const ShuffleMode mode : {ShuffleMode::kWindow, ShuffleMode::kExact}) {
    with.shuffle = mode;
    with.first_batch = 0;
    const Rows expected = read(dataset);
    for (with.first_batch = 1; with.first_batch < 10; ++with.first_batch)
      EXPECT_EQ(read(dataset),
                Rows(expected.begin() + static_cast<std::ptrdiff_t>(10 * with.first_batch), expected.end()));
  }
}

TEST_F(LoaderTarTest, BalancesAFieldThatIsNoColumn) {
  TarBuilder tar;
  const auto class_of = [](std::uint64_t i) { return i % 10 == 3 ? 7 : 4; };
  for (std::uint64_t i = 0; i < 100; ++i) tar.file(key_of(i) + ".cls", concat(class_of(i)));
  write("data/a.tar", tar.finish());
  with.columns = {{.name = "__key__", .type = DataType::kBytes, .length = 1}};
  with.batch_size = 20;
  with.arrangement = {ArrangementKind::kBalance, {.name = "cls", .type = DataType::kInt64, .length = 1}};
  auto loader = BatchLoader::create({{.dataset = open()}}, with);
  ASSERT_TRUE(loader) << loader.error().message;
  for (int b = 0; b < 5; ++b) {
    const auto batch = (*loader)->next();
    ASSERT_TRUE(batch && *batch);
    const ColumnData keys = (*batch)->data(0);
    const std::string_view all = as_text({keys.values, keys.value_count});
    std::map<int, int> classes;
    for (std::size_t at = 0; at < all.size(); at += key_of(0).size())
      ++classes[class_of(static_cast<std::uint64_t>(all[at + key_of(0).size() - 1] - '0'))];
    EXPECT_EQ(classes, (std::map<int, int>{{4, 10}, {7, 10}}));
  }
}

TEST_F(LoaderTarTest, TarsAndTfrecordFilesMix) {
  with.columns = {{.name = "text", .type = DataType::kBytes, .length = 1},
                  {.name = "y", .type = DataType::kInt64, .length = 2, .default_value = std::int64_t{-7}}};
  write("data/a.tar", make_tar(0, 20));
  write("data/b.tfrecord", make_shard(20, 20, 0).data);
  write("other/b.tfrecord.gz", make_shard(20, 20, 6).data);
  const auto both = open();
  ASSERT_NE(both, nullptr);
  EXPECT_EQ(both->record_count(), 40U);
  const auto texts = [&](const std::vector<LoaderSource>& sources) {
    std::multiset<std::string> seen;
    auto loader = BatchLoader::create(sources, with);
    EXPECT_TRUE(loader) << loader.error().message;
    while (loader) {
      const auto batch = (*loader)->next();
      EXPECT_TRUE(batch) << batch.error().message;
      if (!batch || !*batch) break;
      const ColumnData data = (*batch)->data(0);
      for (std::uint64_t row = 0; row < (*batch)->rows; ++row)
        seen.insert(
            to_string({data.values + data.byte_offsets[row], data.values + data.byte_offsets[row + 1]}));
    }
    return seen;
  };
  with.batch_size = 10;
  const auto in_one = texts({{.dataset = both}});
  EXPECT_EQ(in_one.size(), 40U);
  EXPECT_TRUE(in_one.contains(text_of(7)) &&
              in_one.contains(concat("text of record 27", std::string(27, '.'))));
  const Location tar{store, "data/a.tar", Url{"memory", "test", "data/a.tar"}};
  EXPECT_EQ(
      texts({{.dataset = *Dataset::open(tar, {})}, {.dataset = open(CorruptionPolicy::kFail, "other")}}),
      in_one);
}

TEST_F(LoaderTarTest, TheIndexIsMadeOnce) {
  const Location cache{store, "cache", Url{"memory", "test", "cache"}};
  write("data/a.tar", make_tar(0, 50));
  ASSERT_TRUE(Dataset::open(location, {.index_cache = cache}));
  const auto kept = list_all(*store, "cache/");
  ASSERT_TRUE(kept && kept->size() == 1);
  const auto index = ShardIndex::parse(read_object(*store, kept->front().key, 1 << 20)->data);
  ASSERT_TRUE(index);
  EXPECT_EQ(index->encoding(), ShardEncoding::kTar);
  EXPECT_EQ(index->record_offset(7), offset_of(7));
  EXPECT_EQ(index->record_offset(50), index->shard_bytes());
  const auto again = Dataset::open(location, {.index_cache = cache});
  ASSERT_TRUE(again);
  with.shuffle = ShuffleMode::kNone;
  Rows rows = read(*again);
  rows.resize(50);
  EXPECT_EQ(rows, rows_of(0, 50));
}

TEST_F(LoaderTarTest, TheIndexOfATarWithLinksIsKeptWithWhatIsToldOfThem) {
  const Location cache{store, "cache", Url{"memory", "test", "cache"}};
  TarBuilder tar;
  tar.file("a.text", "1").entry('2', "a.cls", "").file("b.text", "2");
  write("data/a.tar", tar.finish());
  const auto first = Dataset::open(location, {.index_cache = cache});
  ASSERT_TRUE(first);
  EXPECT_THAT((*first)->remarks(), testing::ElementsAre(HasSubstr("1 links or special files are skipped")));
  const auto kept = list_all(*store, "cache/");
  ASSERT_EQ(kept->size(), 2U);
  const auto again = Dataset::open(location, {.index_cache = cache});
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->remarks(), (*first)->remarks());
  EXPECT_EQ((*again)->record_count(), 2U);
  EXPECT_EQ(list_all(*store, "cache/")->front().version, kept->front().version) << "it is not made again";
}

TEST_F(LoaderTarTest, TheIndexOfADamagedTarIsNotKept) {
  const Location cache{store, "cache", Url{"memory", "test", "cache"}};
  write("data/a.tar", make_tar(0, 20));
  damage("data/a.tar", offset_of(7));
  ASSERT_TRUE(Dataset::open(location, {.on_corrupt = CorruptionPolicy::kSkipRecord, .index_cache = cache}));
  EXPECT_EQ(list_all(*store, "cache/")->size(), 0U);
}

TEST_F(LoaderTarTest, SingleRecordsAreFoundAndHaveTheirPlaceInTheTar) {
  write("data/a.tar", make_tar(0, 20));
  const auto dataset = open();
  RecordFinder finder;
  EXPECT_EQ(*finder.offset(*dataset, 0, 13, {}), offset_of(13));
  const auto record = finder.read(*dataset, 0, 13, {});
  ASSERT_TRUE(record) << record.error().message;
  const auto features = parse_example(*record);
  ASSERT_TRUE(features);
  EXPECT_EQ((*features)[0].name, "__key__");
  EXPECT_EQ(std::get<std::vector<std::int64_t>>((*features)[1].values), std::vector<std::int64_t>{3});
  EXPECT_EQ(as_text(std::get<std::vector<BytesView>>((*features)[2].values)[0]), text_of(13));
}

// ---- What is damaged

TEST_F(LoaderTarTest, ADamagedHeaderIsAnErrorOrAHoleForWhatItMayConcern) {
  write("data/a.tar", make_tar(0, 20));
  damage("data/a.tar", offset_of(7));  // the first file of sample 7
  EXPECT_THAT(open_error().message,
              HasSubstr(concat("memory://test/data/a.tar: a damaged tar header at byte ", offset_of(7))));
  EXPECT_THAT(open_error().message, HasSubstr("skip-record"));
  Rows expected = rows_of(0, 20);
  // Sample 6, before the damage, may lack files. Sample 7 lacks one. Sample 8 comes after the damage.
  expected.erase(expected.begin() + 7, expected.begin() + 9);
  expected[6] = "-";
  EXPECT_EQ(read_in_order(CorruptionPolicy::kSkipRecord), expected);
  EXPECT_THAT(open(CorruptionPolicy::kSkipRecord)->remarks(), testing::SizeIs(1));
}

TEST_F(LoaderTarTest, DamageWithinASampleIsThatSamples) {
  write("data/a.tar", TarBuilder()
                          .file("a.x", "1")
                          .file("b.x", "2")
                          .file("b.y", "3")
                          .file("b.z", "4")
                          .file("c.x", "5")
                          .finish());
  damage("data/a.tar", 2048);
  const auto dataset = open(CorruptionPolicy::kSkipRecord);
  ASSERT_NE(dataset, nullptr);
  EXPECT_EQ(dataset->record_count(), 3U);
  EXPECT_TRUE(RecordFinder().read(*dataset, 0, 0, {}));
  EXPECT_THAT(RecordFinder().read(*dataset, 0, 1, {}).error().message,
              HasSubstr("memory://test/data/a.tar: record 1: sample b: a damaged tar header at byte 2048"));
  EXPECT_TRUE(RecordFinder().read(*dataset, 0, 2, {}));
}

TEST_F(LoaderTarTest, DamageAnywhereNeverGivesAnIncompleteSample) {
  const Bytes tar = make_tar(0, 12);
  std::map<std::string, std::size_t> sizes;  // of rows, by key; data have no checksum
  for (std::uint64_t i = 0; i < 12; ++i) sizes[key_of(i)] = row_of(i).size();
  for (const CorruptionPolicy policy : {CorruptionPolicy::kSkipRecord, CorruptionPolicy::kSkipShard}) {
    for (std::size_t block = 0; block < offset_of(12); block += 512) {
      write("data/a.tar", tar);
      damage("data/a.tar", block + 3);
      for (const std::string& row : read_in_order(policy)) {
        if (row == "-") continue;
        EXPECT_EQ(row.size(), sizes[row.substr(0, row.find(' '))]) << "byte " << block << ": " << row;
      }
    }
  }
}

TEST_F(LoaderTarTest, DamageThatComesLaterIsAHoleThatShiftsNothing) {
  const Location cache{store, "cache", Url{"memory", "test", "cache"}};
  write("data/a.tar", make_tar(0, 20));
  const Bytes index = open()->shards()[0].index;
  // The same as if the medium had lost the data: the metadata of the object stay.
  damage("data/a.tar", offset_of(7) + 1);
  damage("data/a.tar", offset_of(12) + 1);
  const auto object = store->stat("data/a.tar", {});
  const std::string identity =
      concat("memory://test/data/a.tar", '\0', object->size_bytes, '\0', object->version.token);
  write(concat("cache/", sha256_hex(as_bytes(identity)), ".index"), index);
  const auto dataset = Dataset::open(location, {.index_cache = cache});
  ASSERT_TRUE(dataset && (*dataset)->record_count() == 20);
  with.shuffle = ShuffleMode::kNone;
  auto loader = BatchLoader::create({{.dataset = *dataset}}, with);
  ASSERT_TRUE(loader);
  EXPECT_THAT(
      (*loader)->next().error().message,
      HasSubstr(concat("memory://test/data/a.tar: record 7: a damaged tar header at byte ", offset_of(7))));
  for (const ShuffleMode mode : {ShuffleMode::kNone, ShuffleMode::kExact}) {
    with.shuffle = mode;
    with.on_corrupt = CorruptionPolicy::kSkipRecord;
    Rows rows = read(*dataset);
    EXPECT_EQ(std::count(rows.begin(), rows.end(), "-"), 2 + 12) << "with what fills the last batch";
    for (const std::uint64_t i : {6, 8, 11, 13}) EXPECT_THAT(rows, testing::Contains(row_of(i)));
  }
  with.shuffle = ShuffleMode::kNone;
  with.on_corrupt = CorruptionPolicy::kSkipShard;
  Rows rows = read(*dataset);
  Rows expected = rows_of(0, 7);
  expected.resize(32, "-");
  EXPECT_EQ(rows, expected) << "the rest of the block";
}

TEST_F(LoaderTarTest, ACutTarIsAnErrorOrUsedUpToTheCut) {
  const Bytes tar = make_tar(0, 10);
  for (const std::uint64_t size :
       {offset_of(10), offset_of(10) - 1, offset_of(10) - 512, offset_of(9) + 1, offset_of(9)}) {
    write("data/a.tar", Bytes(tar.begin(), tar.begin() + static_cast<std::ptrdiff_t>(size)));
    EXPECT_EQ(open_error().code, Code::kDataLoss) << size;
    EXPECT_THAT(open_error().message, testing::ContainsRegex("is cut (at|within)|truncated"));
    const Rows rows = read_in_order(CorruptionPolicy::kSkipRecord);
    ASSERT_GE(rows.size(), 9U) << size;
    EXPECT_EQ(rows.back(), "-");
    EXPECT_EQ(Rows(rows.begin(), rows.end() - 1), rows_of(0, rows.size() - 1));
  }
}

TEST_F(LoaderTarTest, LinksAreRemarkedAndSparseFilesAreHoles) {
  TarBuilder tar;
  tar.file("a.text", "1").entry('2', "a.cls", "").entry('1', "a.txt", "");
  write("data/a.tar", tar.finish());
  const auto dataset = open();
  ASSERT_NE(dataset, nullptr);
  EXPECT_THAT(dataset->remarks(),
              testing::ElementsAre(HasSubstr("2 links or special files are skipped; the first is a.cls")));
  tar = TarBuilder();
  tar.pax("GNU.sparse.major", "1").file("a.text", "1").file("b.text", "2").file("b.cls", "3");
  write("data/a.tar", tar.finish());
  EXPECT_THAT(open_error().message, HasSubstr("a.text is a sparse file"));
  EXPECT_EQ(read_in_order(CorruptionPolicy::kSkipRecord), (Rows{"-", "b 3 2"}));
}

TEST_F(LoaderTarTest, ATarThatIsReplacedWhileItIsReadIsAnError) {
  write("data/a.tar", make_tar(0, 20));
  const auto dataset = open();
  write("data/a.tar", make_tar(20, 20));
  auto loader = BatchLoader::create({{.dataset = dataset}}, with);
  ASSERT_TRUE(loader);
  EXPECT_EQ((*loader)->next().error().code, Code::kFailedPrecondition);
}

TEST_F(LoaderTarTest, WhatCannotBeReadAtRandomIsRefusedWithAdvice) {
  Bytes compressed;
  ASSERT_TRUE(GzipCompressor::create(6)->append_member(make_tar(0, 20), compressed));
  write("data/a.tar.gz", compressed);
  EXPECT_EQ(open_error().code, Code::kInvalidArgument);
  EXPECT_THAT(open_error().message, HasSubstr("gunzip"));
}

TEST_F(LoaderTarTest, TarsWithoutSamplesAreEmpty) {
  write("data/a.tar", TarBuilder().entry('5', "d/", "").file("README", "x").finish());
  write("data/b.tar", TarBuilder().finish());
  write("data/c.tar", make_tar(0, 5));
  EXPECT_EQ(read_in_order(), rows_of(0, 5));
  write("data/b.tar", {});
  EXPECT_THAT(open_error().message, HasSubstr("no end mark"));
}

TEST_F(LoaderTarTest, AColumnThatASampleLacksIsNamed) {
  write("data/a.tar", TarBuilder().file("a.text", "1").file("a.cls", "1").file("b.text", "2").finish());
  with.shuffle = ShuffleMode::kNone;
  auto loader = BatchLoader::create({{.dataset = open()}}, with);
  ASSERT_TRUE(loader);
  EXPECT_THAT((*loader)->next().error().message,
              HasSubstr("record 1, at byte 2048 uncompressed, of memory://test/data/a.tar"));
  with.on_corrupt = CorruptionPolicy::kSkipRecord;
  with.batch_size = 2;
  EXPECT_EQ(read(open()), (Rows{"a 1 1", "-"}));
}

}  // namespace
}  // namespace headrace::loader_tar_test
