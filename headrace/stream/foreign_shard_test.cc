#include "headrace/stream/foreign_shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/stream/index_cache.h"
#include "headrace/stream/small_dataset_test.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ForeignShardTest : public LoaderTest {
 protected:
  Location at(const std::string& key) const { return {store, key, Url{"memory", "test", key}}; }

  std::vector<std::string> keys_found(const std::string& key) const {
    const auto found = find_foreign_objects(at(key), {});
    std::vector<std::string> keys;
    for (const ForeignObject& object : found ? *found : std::vector<ForeignObject>())
      keys.push_back(object.object.key);
    return keys;
  }

  ShardIndex index_of(const std::string& key, CorruptionPolicy policy = CorruptionPolicy::kFail) const {
    const auto object = store->stat(key, {});
    EXPECT_TRUE(object);
    const auto shard = index_foreign_shard({at(key), *object}, policy, {});
    EXPECT_TRUE(shard) << shard.error().message;
    return *ShardIndex::parse(shard->shard.index);
  }
};

TEST_F(ForeignShardTest, WhatLooksLikeAPatternMayBeAName) {
  for (const char* key : {"run[1]/a", "run[1]/b*", "run1/a"}) ASSERT_TRUE(write_text(*store, key, ""));
  EXPECT_THAT(keys_found("run[1]"), ElementsAre("run[1]/a", "run[1]/b*"));
  EXPECT_THAT(keys_found("run[1]/b*"), ElementsAre("run[1]/b*"));
  EXPECT_THAT(keys_found("run[12]/a"), ElementsAre("run1/a"));
  publish({30}, 7, false, "data[1]");
  EXPECT_TRUE(open(CorruptionPolicy::kFail, "data[1]")->attributes());
}

TEST_F(ForeignShardTest, PatternsPassOverWhatIsHiddenAndIndexes) {
  for (const char* key : {"d/_headrace/x", "d/.x/y", "d/a", "d/a.index", "d/s/b", "d/c.index"})
    ASSERT_TRUE(write_text(*store, key, ""));
  EXPECT_THAT(keys_found("d/**"), ElementsAre("d/a", "d/c.index", "d/s/b"));
  EXPECT_THAT(keys_found("d/*"), ElementsAre("d/a", "d/c.index"));
  EXPECT_THAT(keys_found("d"), ElementsAre("d/a", "d/c.index", "d/s/b"));
  EXPECT_THAT(keys_found("d/_headrace/*"), ElementsAre("d/_headrace/x"));
}

TEST_F(ForeignShardTest, APublishedDataSetAmongOthersIsRefused) {
  publish({30}, 7);
  ASSERT_TRUE(store->write("raw/a", make_shard(0, 20, 6).data, {}));
  const auto both = Dataset::open({at("raw"), at("data")}, {});
  ASSERT_FALSE(both) << "its splits would be read as one";
  EXPECT_THAT(both.error().message, HasSubstr("memory://test/data is a published dataset"));
}

TEST_F(ForeignShardTest, TheMembersOfAFileAreFound) {
  // 600 records: members with about 6 kB of content each.
  const WrittenShard shard = make_shard(0, 600, 40);
  ASSERT_TRUE(store->write("data/a", shard.data, {}));
  const ShardIndex index = index_of("data/a");
  ASSERT_EQ(index.members().size(), shard.index.members().size());
  for (std::size_t i = 0; i < index.members().size(); ++i) {
    EXPECT_EQ(index.members()[i].compressed_offset, shard.index.members()[i].compressed_offset);
    EXPECT_EQ(index.members()[i].first_record, shard.index.members()[i].first_record);
  }
}

TEST_F(ForeignShardTest, SmallMembersCountWithTheOneBefore) {
  ASSERT_TRUE(store->write("data/a", make_shard(0, 600, 1).data, {}));
  const ShardIndex index = index_of("data/a");
  EXPECT_LT(index.members().size(), 40U);
  for (std::size_t i = 0; i + 1 < index.members().size(); ++i)
    EXPECT_GE(index.members()[i].uncompressed_bytes, Inflater::kLeastMemberBytes);
}

TEST_F(ForeignShardTest, PaddingBetweenMembersIsPassedOver) {
  Bytes data;
  for (const std::uint64_t first : {0, 50, 100}) {
    const Bytes part = make_shard(first, 50, 3).data;
    data.insert(data.end(), part.begin(), part.end());
    data.resize(data.size() + 100);
  }
  ASSERT_TRUE(store->write("data/a", data, {}));
  for (const ShuffleMode mode : {ShuffleMode::kNone, ShuffleMode::kExact}) {
    LoaderOptions with = options();
    with.shuffle = mode;
    std::set<std::int64_t> seen;
    for (const auto& batch : batches_of(open(), with)) seen.insert(batch.begin(), batch.end());
    seen.erase(-1);
    EXPECT_EQ(seen.size(), 150U);
  }
}

TEST_F(ForeignShardTest, AMemberMayEndWithinARecord) {
  const Bytes plain = make_shard(0, 600, 0).data;
  Bytes data;
  for (std::size_t begin = 0; begin < plain.size(); begin += 5000) {
    const auto part = BytesView(plain).subspan(begin, std::min<std::size_t>(5000, plain.size() - begin));
    const Bytes member = *gzip_compress(part, 1);
    data.insert(data.end(), member.begin(), member.end());
  }
  ASSERT_TRUE(store->write("data/a", data, {}));
  EXPECT_GT(index_of("data/a").members().size(), 10U);
  std::set<std::int64_t> seen;
  LoaderOptions with = options();
  with.shuffle = ShuffleMode::kExact;
  for (const auto& batch : batches_of(open(), with)) seen.insert(batch.begin(), batch.end());
  seen.erase(-1);
  EXPECT_EQ(seen.size(), 600U);
}

TEST_F(ForeignShardTest, NothingButIndexesIsPruned) {
  ASSERT_TRUE(store->write("data/a", make_shard(0, 20, 0).data, {}));
  const ForeignObject object{at("data/a"), *store->stat("data/a", {})};
  ForeignShard shard = *index_foreign_shard(object, CorruptionPolicy::kFail, {});
  const Bytes& index = shard.shard.index;
  const auto kept = [&] { return list_all(*store, "cache/")->size(); };
  for (int i = 0; i < 10; ++i) {
    ForeignObject other = object;
    other.object.version.token = concat(i);
    keep_index(at("cache"), other, shard, {});
  }
  for (const char* name : {"thesis.pdf", "other.index", "0123.index"})
    ASSERT_TRUE(store->write(concat("cache/", name), Bytes(10'000), {}));
  prune_indexes(at("cache"), 10 * index.size(), {});
  EXPECT_EQ(kept(), 13U);
  prune_indexes(at("cache"), 5 * index.size(), {});
  EXPECT_EQ(kept(), 3U + 4U);
  shard.notes = {std::string(10 * index.size(), '.')};
  ForeignObject noted = object;
  noted.object.version.token = "noted";
  keep_index(at("cache"), noted, shard, {});
  EXPECT_EQ(kept(), 3U + 6U);
  prune_indexes(at("cache"), 5 * index.size(), {});
  const auto left = list_all(*store, "cache/");
  for (const ObjectInfo& each : *left) EXPECT_FALSE(each.key.ends_with(".notes")) << "they count and go, too";
}

TEST_F(ForeignShardTest, AnIndexTooLargeToBeReadIsNotKept) {
  ASSERT_TRUE(store->write("data/a", make_shard(0, 20, 0).data, {}));
  const ForeignObject object{at("data/a"), *store->stat("data/a", {})};
  ForeignShard shard = *index_foreign_shard(object, CorruptionPolicy::kFail, {});
  shard.shard.index.resize((64 << 20) + 1);
  keep_index(at("cache"), object, shard, {});
  EXPECT_EQ(list_all(*store, "cache/")->size(), 0U);
}

// A manifest that contradicts the index must not make the reader leave the block.
TEST_F(ForeignShardTest, BlocksThatDoNotFitTheIndexAreLost) {
  publish({20}, 10, true);
  auto shard = read_object(*store, "data/train-00000", 1 << 20);
  const auto index = ShardIndex::parse(read_object(*store, "data/train-00000.index", 1 << 20)->data);
  shard->data[index->members()[0].compressed_offset + 30] ^= std::byte{1};
  ASSERT_TRUE(store->write("data/train-00000", shard->data, {}));
  auto text = read_object(*store, "data/_headrace/manifest-00000001", 1 << 20);
  auto manifest = parse_manifest(text->data);
  ASSERT_TRUE(manifest) << manifest.error().message;
  // The first block has all stored bytes but one, and the content of the first member.
  std::vector<ShardBlock>& blocks = manifest->parts[0].blocks;
  ASSERT_EQ(blocks.size(), 2U);
  blocks[0].stored_bytes = shard->data.size() - 1;
  blocks[1].stored_bytes = 1;
  ASSERT_TRUE(write_text(*store, "data/_headrace/manifest-00000001", serialize_manifest(*manifest)));
  LoaderOptions with = options();
  with.on_corrupt = CorruptionPolicy::kSkipRecord;
  auto loader = make_loader(open(), with);
  ASSERT_TRUE(loader);
  for (const auto& batch : drain(**loader)) {
    for (const std::int64_t id : batch) EXPECT_EQ(id, -1);
  }
  EXPECT_THAT((*loader)->remarks().at(0), HasSubstr("does not match its manifest"));
}

}  // namespace
}  // namespace headrace
