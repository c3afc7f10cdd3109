// Tests of rows that were removed or have changed when a loader reads them, with a scripted node.
// tests/python/test_ignite_loader.py has real nodes.

#include "headrace/stream/ignite/cache_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "headrace/net/ignite/scripted_node_test.h"
#include "headrace/record/example.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/stream/block_loader.h"
#include "headrace/stream/ignite/streamed_rows.h"

namespace headrace::ignite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The only node of a cluster, with a cache that is not partitioned. It answers several requests with one row
// each. Keys and values are numbers and texts.
class CacheOfTexts {
 public:
  CacheOfTexts() : node_({[this](Peer& peer) { serve(peer); }}) {}

  std::shared_ptr<const CacheRows> rows() const {
    const auto cluster = Cluster::connect({.addresses = {node_.address()}});
    EXPECT_TRUE(cluster) << cluster.error().message;
    return std::make_shared<const CacheRows>(*cluster, "texts");
  }
  void set(std::map<std::int64_t, std::string> rows) {
    const std::scoped_lock lock(mutex_);
    rows_ = std::move(rows);
  }

 private:
  void serve(Peer& peer) {
    peer.accept_handshake();
    for (ScriptedRequest request = peer.next_request(); request.number != 0; request = peer.next_request()) {
      const std::scoped_lock lock(mutex_);
      peer.answer(request.number, answer_to(request));
    }
  }
  Bytes answer_to(const ScriptedRequest& request) const {
    Bytes body;
    if (request.operation == Operation::kCacheGetConfiguration) return Bytes(12);
    if (request.operation == Operation::kCachePartitions) return Bytes(16);  // no groups
    if (request.operation == Operation::kQueryScan) append_little_endian(body, std::int64_t{1});
    append_little_endian(body, static_cast<std::int32_t>(rows_.size()));
    for (const auto& [key, text] : rows_) {
      append(body, encode_long(key));
      append(body, encode_string(text));
    }
    body.push_back(std::byte{0});  // no more pages; behind the entries, nobody reads it
    return body;
  }

  std::mutex mutex_;
  std::map<std::int64_t, std::string> rows_{};
  ScriptedNode node_;
};

// "KEY=TEXT" of each record, or the reason why it is a hole.
std::vector<std::string> read_all(const Dataset& dataset) {
  std::vector<std::string> shown;
  BlockLoader loader(dataset, CorruptionPolicy::kSkipRecord, BufferPool::create());
  for (const DatasetBlock& block : dataset.blocks()) {
    const Result<LoadedBlock> loaded = loader.load(block, {});
    if (!loaded) return {loaded.error().message};
    for (std::uint64_t i = 0; i < loaded->record_count(); ++i) {
      const Result<BytesView> record = loaded->record(i);
      if (!record) {
        shown.push_back(record.error().message);
        continue;
      }
      const std::vector<Feature> features = *parse_example(*record);
      const auto& keys = std::get<std::vector<std::int64_t>>(features.at(0).values);
      const auto& texts = std::get<std::vector<BytesView>>(features.at(1).values);
      shown.push_back(std::to_string(keys.at(0)) + "=" + to_string(texts.at(0)));
    }
  }
  std::ranges::sort(shown);
  return shown;
}

std::shared_ptr<const Dataset> opened(const CacheOfTexts& cache, const CacheDatasetOptions& options = {}) {
  Result<std::shared_ptr<const Dataset>> dataset = open_cache_dataset(cache.rows(), options, {});
  EXPECT_TRUE(dataset) << dataset.error().message;
  return dataset ? *dataset : nullptr;
}

TEST(IgniteDataset, HasTheRowsOfItsSnapshotOrSaysWhichAreNotThere) {
  CacheOfTexts cache;
  cache.set({{1, "one"}, {2, "two"}, {3, "three"}});
  const auto dataset = opened(cache);
  EXPECT_EQ(dataset->record_count(), 3U);
  EXPECT_EQ(dataset->attributes()->features.at("val").dtype, "bytes");
  EXPECT_THAT(read_all(*dataset), ElementsAre("1=one", "2=two", "3=three"));
  cache.set({{2, "TWO"}, {3, "three"}, {4, "four"}});
  const std::vector<std::string> later = read_all(*dataset);
  ASSERT_EQ(later.size(), 3U);
  EXPECT_EQ(later[0], "3=three");
  EXPECT_THAT(later[1], HasSubstr("key 1: the row was removed since the snapshot was taken"));
  EXPECT_THAT(later[2], HasSubstr("key 2: the value of the row has changed"));
}

TEST(IgniteDataset, TakesNewValuesIfAskedAsFarAsThereIsRoom) {
  CacheOfTexts cache;
  cache.set({{1, "one"}, {2, "two"}});
  const auto dataset = opened(cache, {.take_changed = true});
  cache.set({{1, "ONE"}, {2, "two"}});
  EXPECT_THAT(read_all(*dataset), ElementsAre("1=ONE", "2=two"));
  cache.set({{1, std::string(1000, 'x')}, {2, "two"}});
  EXPECT_THAT(read_all(*dataset), ElementsAre("2=two", HasSubstr("the rows of its block have grown")));
}

TEST(IgniteDataset, OfTheSameRowsIsEqualAndOfOthersIsNot) {
  CacheOfTexts one, other;
  one.set({{1, "one"}, {2, "two"}});
  other.set({{1, "one"}, {2, "two"}});
  const std::string digest = opened(one)->digest();
  other.set({{1, "one"}, {2, "two"}});
  EXPECT_EQ(opened(other)->digest(), digest);
  CacheOfTexts changed;
  changed.set({{1, "one"}, {2, "TWO"}});
  EXPECT_NE(opened(changed)->digest(), digest);
}

TEST(IgniteDataset, OfAStoredSnapshotReadsItsRowsAndNoOthers) {
  const Location place{.store = make_memory_store("test"), .key = "folder/snapshot"};
  CacheOfTexts cache, same;
  cache.set({{1, "one"}});
  const std::string digest = opened(cache, {.snapshot = place})->digest();
  same.set({{1, "one"}, {2, "new"}});
  const auto dataset = opened(same, {.snapshot = place});
  EXPECT_EQ(dataset->digest(), digest);
  EXPECT_THAT(read_all(*dataset), ElementsAre("1=one"));
  ASSERT_TRUE(remove_object(*place.store, place.key));
  ASSERT_TRUE(write_text(*place.store, place.key, "another object altogether, 40 bytes and more"));
  EXPECT_FALSE(read_all(*dataset).front().starts_with("1="));
}

TEST(IgniteDataset, ThatNeedsMoreMemoryThanAllowedSaysWhatToDo) {
  CacheOfTexts cache;
  cache.set({{1, "one"}});
  const auto refused = open_cache_dataset(cache.rows(), {.memory_limit_bytes = 50}, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("give it a URL in a store"));
}

// The number of rows of each batch of a stream, or the error in place of a batch.
std::vector<std::string> batches_of(const CacheOfTexts& cache, LoaderOptions options) {
  auto stream = StreamedRows::open(cache.rows(), {}, std::move(options), {});
  EXPECT_TRUE(stream) << stream.error().message;
  std::vector<std::string> shown;
  while (true) {
    const Result<std::optional<Batch>> batch = (*stream)->next({});
    if (!batch) return {batch.error().message};
    if (!*batch) break;
    shown.push_back(std::to_string((*batch)->rows));
  }
  for (const std::string& remark : (*stream)->take_remarks()) shown.push_back(remark);
  return shown;
}

TEST(IgniteStream, GivesWholeBatchesAndThenTheRest) {
  CacheOfTexts cache;
  cache.set({{1, "one"}, {2, "two"}, {3, "three"}, {4, "four"}, {5, "five"}});
  LoaderOptions options{.columns = {{.name = "val", .type = DataType::kBytes, .length = 1}}};
  options.batch_size = 2;
  EXPECT_THAT(batches_of(cache, options), ElementsAre("2", "2", "1"));
}

TEST(IgniteStream, DropsTheRestIfAsked) {
  CacheOfTexts cache;
  cache.set({{1, "one"}, {2, "two"}, {3, "three"}});
  LoaderOptions options{.columns = {{.name = "key", .type = DataType::kInt64, .length = 1}}};
  options.batch_size = 2;
  options.drop_remainder = true;
  EXPECT_THAT(batches_of(cache, options), ElementsAre("2"));
}

TEST(IgniteStream, LeavesOutRowsThatDoNotFitTheColumnsIfAsked) {
  LoaderOptions options{.columns = {{.name = "val", .type = DataType::kInt64, .length = 1}}};
  options.batch_size = 2;
  for (const CorruptionPolicy policy : {CorruptionPolicy::kFail, CorruptionPolicy::kSkipRecord}) {
    CacheOfTexts cache;
    cache.set({{7, "seven"}});
    options.on_corrupt = policy;
    EXPECT_THAT(batches_of(cache, options), ElementsAre(HasSubstr("/texts, key 7: ")));
  }
}

TEST(IgniteStream, EndsAtItsMemoryBudget) {
  CacheOfTexts cache;
  cache.set({{1, std::string(1000, 'x')}, {2, "two"}});
  LoaderOptions options{.columns = {{.name = "val", .type = DataType::kBytes, .length = 1}}};
  options.batch_size = 2;
  options.memory_budget_bytes = 500;
  EXPECT_THAT(batches_of(cache, options), ElementsAre(HasSubstr("make batches smaller")));
}

}  // namespace
}  // namespace headrace::ignite
