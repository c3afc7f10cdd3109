#pragma once

/// \file For tests of this folder: small datasets in a memory store, and loaders for them.

#include <memory>
#include <string>
#include <vector>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/codec/deflate.h"
#include "headrace/record/example.h"
#include "headrace/record/tfrecord.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/stream/loader.h"
#include "headrace/stream/loader_state.h"

namespace headrace {

inline constexpr std::uint32_t kWidth = 8;

// Record i of a dataset: `x` = {i, i+0.5, …}, `y` = {i, -i} and `text`; features of different lengths: i % 5
// `tokens`, i % 3 `scores` and i % 4 `words`; and `even`, which odd records lack.
inline Bytes example(std::uint64_t i) {
  std::vector<float> x(kWidth);
  for (std::uint32_t c = 0; c < kWidth; ++c) x[c] = static_cast<float>(i) + 0.5F * static_cast<float>(c);
  const std::vector<std::int64_t> y = {static_cast<std::int64_t>(i), -static_cast<std::int64_t>(i)};
  const std::string text = concat("text of record ", i, std::string(i % 50, '.'));
  ExampleBuilder builder;
  builder.add_floats("x", x);
  builder.add_int64s("y", y);
  builder.add_bytes("text", as_bytes(text));
  const std::vector<std::int64_t> tokens(i % 5, static_cast<std::int64_t>(i));
  const std::vector<float> scores(i % 3, static_cast<float>(i));
  const std::string word = concat("word ", i);
  const std::vector<BytesView> words(i % 4, as_bytes(word));
  const std::vector<std::int64_t> even = {static_cast<std::int64_t>(i)};
  builder.add_int64s("tokens", tokens);
  builder.add_floats("scores", scores);
  builder.add_bytes_list("words", words);
  if (i % 2 == 0) builder.add_int64s("even", even);
  Bytes out;
  builder.append_to(out);
  return out;
}

struct WrittenShard {
  Bytes data;
  ShardIndex index;
};

// A shard with records first … first+count−1, in gzip members of `member_records` records (0: not
// compressed).
inline WrittenShard make_shard(std::uint64_t first, std::uint64_t count, std::uint64_t member_records) {
  ShardIndexBuilder builder(member_records == 0 ? ShardEncoding::kPlain : ShardEncoding::kGzip);
  Bytes data, member;
  auto compressor = GzipCompressor::create(1);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Bytes record = example(first + i);
    builder.add_record(record.size());
    append_record(member_records == 0 ? data : member, record);
    if (member_records != 0 && ((i + 1) % member_records == 0 || i + 1 == count)) {
      builder.add_member(compressor->append_member(member, data), member.size());
      member.clear();
    }
  }
  auto index = std::move(builder).finish(data.size(), crc32c(data));
  EXPECT_TRUE(index) << index.error().message;
  return {std::move(data), *std::move(index)};
}

// The shard's blocks; or small ones, of one member or ten records each.
inline std::vector<ShardBlock> blocks_of(const ShardIndex& index, bool small) {
  if (!small) return index.blocks();
  std::vector<ShardBlock> blocks;
  if (is_compressed(index.encoding())) {
    for (const ShardMember& member : index.members())
      blocks.push_back({member.record_count, member.compressed_bytes, member.uncompressed_bytes});
    return blocks;
  }
  for (std::uint64_t first = 0; first < index.record_count(); first += 10) {
    const std::uint64_t end = std::min(first + 10, index.record_count());
    const std::uint64_t bytes = index.record_offset(end) - index.record_offset(first);
    blocks.push_back({end - first, bytes, bytes});
  }
  return blocks;
}

/// Publishes datasets at memory://test/data.
class LoaderTest : public testing::Test {
 protected:
  LoaderTest() : store(make_memory_store("test")), location{store, "data", Url{"memory", "test", "data"}} {}

  // Publishes shards with the given numbers of records.
  void publish(const std::vector<std::uint64_t>& shard_records, std::uint64_t member_records,
               bool small_blocks = false, const std::string& folder = "data", std::uint64_t first = 0,
               const std::vector<ShardThousandths>& thousandths = {}) {
    Manifest manifest{.kind = "dataset", .created_by = "run", .plan = "p"};
    DatasetAttributes attributes{.compression = member_records == 0 ? "none" : "gzip", .labels = {"a", "b"}};
    attributes.features = {{"x", {"float32", std::vector<std::int64_t>{kWidth}}},
                           {"y", {"int64", std::vector<std::int64_t>{2}}},
                           {"text", {"bytes", std::vector<std::int64_t>{}}},
                           {"tokens", {"int64", std::nullopt}},
                           {"scores", {"float32", std::nullopt}},
                           {"words", {"bytes", std::nullopt}}};
    const std::uint64_t begin = first;
    for (std::size_t s = 0; s < shard_records.size(); ++s) {
      const WrittenShard shard = make_shard(first, shard_records[s], member_records);
      const std::string key = concat("train-", zero_padded(s, 5));
      const Bytes index = shard.index.serialize();
      ASSERT_TRUE(store->write(folder + "/" + key, shard.data, {}));
      ASSERT_TRUE(store->write(folder + "/" + key + ".index", index, {}));
      manifest.parts.push_back({.key = key,
                                .size_bytes = shard.data.size(),
                                .crc32c = crc32c(shard.data),
                                .role = "shard",
                                .split = "train",
                                .records = shard_records[s],
                                .index = key + ".index",
                                .blocks = blocks_of(shard.index, small_blocks),
                                .thousandths = s < thousandths.size() ? thousandths[s] : ShardThousandths{}});
      manifest.parts.push_back({.key = key + ".index", .size_bytes = index.size(), .role = "index"});
      first += shard_records[s];
    }
    attributes.splits["train"].records = first - begin;
    manifest.attributes_json = dataset_attributes_to_json(attributes);
    ASSERT_TRUE(write_text(*store, folder + "/_headrace/manifest-00000001", serialize_manifest(manifest)));
  }

  std::shared_ptr<const Dataset> open(CorruptionPolicy policy = CorruptionPolicy::kFail,
                                      const std::string& folder = "data") {
    auto dataset = Dataset::open({store, folder, Url{"memory", "test", folder}}, {.on_corrupt = policy});
    EXPECT_TRUE(dataset) << dataset.error().message;
    return dataset ? *dataset : nullptr;
  }

  LoaderOptions options() const {
    LoaderOptions out;
    out.columns = {{.name = "x", .type = DataType::kFloat32, .length = kWidth},
                   {.name = "y", .type = DataType::kInt64, .length = 2}};
    out.batch_size = 16;
    out.seed = 44;
    out.window_bytes = 4'000;
    return out;
  }

  std::shared_ptr<Store> store;
  Location location;
};

// The remaining batches, as the ids of their rows; −1 for a row with weight 0. Checks every value.
inline std::vector<std::vector<std::int64_t>> drain(BatchLoader& loader) {
  std::vector<std::vector<std::int64_t>> batches;
  while (true) {
    auto batch = loader.next();
    if (!batch) {
      ADD_FAILURE() << batch.error().message;
      return batches;
    }
    if (!*batch) return batches;
    std::vector<std::int64_t> ids((*batch)->records == 0 ? (*batch)->rows : 0, -1);
    const auto* x = reinterpret_cast<const float*>((*batch)->column(0));
    const auto* y = reinterpret_cast<const std::int64_t*>((*batch)->column(1));
    for (std::uint64_t row = 0; row < (*batch)->rows; ++row) {
      const std::int64_t id = y[2 * row];
      if ((*batch)->records == 0) continue;  // zeros
      EXPECT_EQ(y[2 * row + 1], -id);
      for (std::uint32_t c = 0; c < kWidth; ++c)
        EXPECT_EQ(x[row * kWidth + c], static_cast<float>(id) + 0.5F * static_cast<float>(c));
      ids.push_back((*batch)->weights()[row] != 0 ? id : -1);
    }
    batches.push_back(ids);
  }
}

inline Result<std::unique_ptr<BatchLoader>> make_loader(std::shared_ptr<const Dataset> dataset,
                                                        const LoaderOptions& options,
                                                        std::optional<RecordRange> range = {}) {
  return BatchLoader::create({{.dataset = std::move(dataset), .range = range}}, options);
}

inline std::vector<std::vector<std::int64_t>> batches_of(std::shared_ptr<const Dataset> dataset,
                                                         const LoaderOptions& options,
                                                         std::optional<RecordRange> range = {}) {
  auto loader = make_loader(std::move(dataset), options, range);
  EXPECT_TRUE(loader) << loader.error().message;
  return loader ? drain(**loader) : std::vector<std::vector<std::int64_t>>{};
}

// The batches from a position on, joined from those of `world_size` ranks.
inline std::vector<std::vector<std::int64_t>> batches_of_ranks(const std::vector<LoaderSource>& sources,
                                                               LoaderOptions options,
                                                               const LoaderPosition& from,
                                                               std::uint64_t world_size) {
  options.first_epoch = from.epoch;
  options.first_batch = from.batch;
  options.world_size = world_size;
  std::vector<std::vector<std::int64_t>> joined;
  for (options.rank = 0; options.rank < world_size; ++options.rank) {
    auto loader = BatchLoader::create(sources, options);
    EXPECT_TRUE(loader) << loader.error().message;
    if (!loader) return {};
    const auto part = drain(**loader);
    joined.resize(std::max(joined.size(), part.size()));
    EXPECT_EQ(part.size(), joined.size());
    for (std::size_t b = 0; b < part.size(); ++b)
      joined[b].insert(joined[b].end(), part[b].begin(), part[b].end());
  }
  return joined;
}

}  // namespace headrace
