#include "headrace/prepare/write/shard_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/crc32c.h"
#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/prepare/extract/extract.h"
#include "headrace/prepare/plan/plan_request.h"
#include "headrace/prepare/sort/spill_store.h"
#include "headrace/prepare/write/part_keys.h"
#include "headrace/prepare/write/shard_body.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/registry.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

// Forwards to another store, and refuses to tell about shards.
class DenyingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    if (key.ends_with(".tfrecord")) return Error{Code::kPermissionDenied, "no"};
    return inner().stat(key, options);
  }
};

// Knows the checksum of each object's content, as S3 does.
class ChecksumStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    HEADRACE_TRY(ReadObject read, read_object(inner(), key, 1 << 20, options));
    read.object.crc32c = crc32c(read.data);
    return read.object;
  }
};

// A table of eight rows in two splits, which is read, sorted and arranged. One row is rejected, and one has
// the id of another row.
class ShardWriterTest : public testing::Test {
 protected:
  ShardWriterTest() {
    const Location input = *stores.open("memory://shards/in.csv");
    put(input,
        "split,id,label,n\ntrain,a,cat,1\ntrain,b,dog,2\ntrain,c,cat,3\ntrain,d,dog,x\n"
        "train,a,dog,5\ntest,e,cat,6\ntest,f,dog,7\ntest,g,cat,8\n");
    const Location schema = *stores.open("memory://shards/schema");
    put(schema,
        "id = 'id'\nsplit = 'split'\n[features.label]\ntype = 'label'\n[features.n]\ntype = 'int64'\n");
    auto made = plan_prepare(
        {.schema_url = "memory://shards/schema", .options = {.shard_records = 3, .compression = "none"}},
        input, output, {.stores = stores, .environment = environment});
    EXPECT_TRUE(made) << made.error().message;
    planned = *std::move(made);
    const auto slice = extract_slice(context(), 0, [](std::uint64_t) {});
    EXPECT_TRUE(slice) << slice.error().message;
    auto arranged = arrange(context(), {&*slice, 1}, {.rows = 9});
    EXPECT_TRUE(arranged) << arranged.error().message;
    arrangement = *std::move(arranged);
    tasks = arrangement.tasks();
  }

  static void put(const Location& place, std::string_view text) {
    ASSERT_TRUE(write_text(*place.store, place.key, text));
  }
  TaskContext context(std::uint64_t max_rejects = 9) {
    return {.plan = planned.plan,
            .plan_digest = digest,
            .encoders = planned.encoders,
            .stores = stores,
            .spills = spills,
            .output = output,
            .max_rejects = max_rejects};
  }
  ShardReceipt write(const ShardTask& task) {
    const auto written = write_shard(context(), arrangement, task);
    EXPECT_TRUE(written) << written.error().message;
    return written ? *written : ShardReceipt{};
  }
  std::vector<std::uint64_t> unwritten() { return *unwritten_shards(context(), tasks); }
  bool is_found(const ShardTask& task) { return find_shard(context(), task)->has_value(); }

  StoreRegistry stores{Environment{}};
  Environment environment;
  Location output = *stores.open("memory://shards/data");
  std::string digest = sha256_hex(as_bytes("a plan"));
  PlannedPrepare planned;
  SpillStore spills{work_folder(output, name_tag(digest, 1)), 0};
  Arrangement arrangement;
  std::vector<ShardTask> tasks;
};

TEST_F(ShardWriterTest, AShardIsUnwrittenUntilItsReceiptIsThere) {
  ASSERT_EQ(tasks.size(), 3U);
  EXPECT_THAT(unwritten(), ElementsAre(0, 1, 2));
  EXPECT_FALSE(is_found(tasks[1]));
  write(tasks[1]);
  EXPECT_THAT(unwritten(), ElementsAre(0, 2));
  EXPECT_TRUE(is_found(tasks[1]));
  EXPECT_FALSE(is_found(tasks[0]));
  write(tasks[0]);
  write(tasks[2]);
  EXPECT_THAT(unwritten(), IsEmpty());
}

TEST_F(ShardWriterTest, AllRowsAreWrittenOrRejectedAndCounted) {
  std::uint64_t in = 0, written = 0, rejected = 0, told = 0, told_rejected = 0;
  std::map<std::string, std::uint64_t> reasons, labels;
  for (const ShardTask& task : tasks) {
    const auto made = write_shard(context(), arrangement, task, [&](std::uint64_t rows, std::uint64_t no) {
      told += rows;
      told_rejected += no;
    });
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->split, task.split);
    in += made->in;
    written += made->written;
    rejected += made->rejected;
    EXPECT_EQ(made->dropped, 0U);
    EXPECT_EQ(made->report.has_value(), made->rejected > 0);
    EXPECT_EQ(made->first_rejection.empty(), made->rejected == 0);
    for (const auto& [reason, count] : made->reasons) reasons[reason] += count;
    for (const auto& [value, count] : made->labels.at("label")) labels[value] += count;
    const auto found = find_shard(context(), task);
    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->in, made->in);
    EXPECT_EQ((*found)->written, made->written);
    EXPECT_EQ((*found)->rejected, made->rejected);
    EXPECT_EQ((*found)->reasons, made->reasons);
    EXPECT_EQ((*found)->labels, made->labels);
    EXPECT_EQ((*found)->first_rejection, made->first_rejection);
  }
  EXPECT_EQ(in, 8U);
  EXPECT_EQ(written, 6U);
  EXPECT_EQ(rejected, 2U);
  EXPECT_EQ(told, 8U);
  EXPECT_EQ(told_rejected, 2U);
  EXPECT_THAT(reasons, UnorderedElementsAre(Pair(kRepeatedId, 1), Pair("not a number, or out of range", 1)));
  EXPECT_EQ(labels["cat"] + labels["dog"], 6U);
}

TEST_F(ShardWriterTest, PartsHaveTheirNamesSizesAndRecords) {
  ASSERT_EQ(tasks[0].split, "test");
  const ShardReceipt made = write(tasks[0]);
  const std::string tag = name_tag(digest, 1), name = concat("test-", tag, "-00000-of-00001.tfrecord");
  ASSERT_TRUE(made.shard && made.index);
  EXPECT_EQ(made.shard->key, name);
  EXPECT_EQ(made.shard->role, "shard");
  EXPECT_EQ(made.shard->split, "test");
  EXPECT_EQ(made.shard->records, 3U);
  EXPECT_EQ(made.shard->index, index_key(name));
  EXPECT_EQ(made.shard->size_bytes, output.store->stat(output.at(name).key, {})->size_bytes);
  std::uint64_t spread = 0;
  for (const std::uint64_t count : made.shard->thousandths.records) spread += count;
  EXPECT_EQ(spread, 3U);
  EXPECT_EQ(made.index->key, index_key(name));
  EXPECT_EQ(made.index->role, "index");
  EXPECT_EQ(made.index->records, 3U);
  EXPECT_EQ(made.labels.at("label"), (LabelCounts{{"cat", 2}, {"dog", 1}}));
  EXPECT_EQ(shard_name(tasks[1], "t", "gzip"), "train-t-00000-of-00002.tfrecord.gz");
  EXPECT_EQ(shard_report_key(tasks[2], "t"), "_headrace/report/t-train-00001.jsonl.gz");
}

TEST_F(ShardWriterTest, AReceiptCountsOnlyWithTheObjectsThatItNames) {
  const ShardReceipt made = write(tasks[0]);
  for (const std::string& key : {made.shard->key, made.index->key}) {
    const Location place = output.at(key);
    const Bytes before = read_object(*place.store, place.key, 1 << 20)->data;
    put(place, to_string(before) + "x");
    EXPECT_FALSE(is_found(tasks[0])) << key;
    std::string other = to_string(before);
    other[0] = static_cast<char>(other[0] ^ 1);
    put(place, other);
    EXPECT_TRUE(is_found(tasks[0])) << key << ": this store knows no checksums";
    TaskContext checked = context();
    checked.output.store = std::make_shared<ChecksumStore>(output.store);
    EXPECT_FALSE(find_shard(checked, tasks[0])->has_value()) << key;
    ASSERT_TRUE(remove_object(*place.store, place.key));
    EXPECT_FALSE(is_found(tasks[0])) << key;
    put(place, to_string(before));
    EXPECT_TRUE(is_found(tasks[0])) << key;
    EXPECT_TRUE(find_shard(checked, tasks[0])->has_value()) << key;
  }
}

TEST_F(ShardWriterTest, APartThatCannotBeLookedAtIsNotTakenForMissing) {
  write(tasks[0]);
  TaskContext denied = context();
  denied.output.store = std::make_shared<DenyingStore>(output.store);
  const auto found = find_shard(denied, tasks[0]);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kPermissionDenied);
}

TEST_F(ShardWriterTest, AReceiptOfAnotherShardIsDamage) {
  write(tasks[0]);
  write(tasks[1]);
  const Location work = context().work_folder();
  const Location first = work.at("shard-test-00000"), second = work.at("shard-train-00000");
  const std::string text = to_string(read_object(*second.store, second.key, 1 << 20)->data);
  for (const std::string& other : {text, std::string("{}"), std::string("{")}) {
    put(first, other);
    const auto found = find_shard(context(), tasks[0]);
    ASSERT_FALSE(found) << other;
    EXPECT_EQ(found.error().code, Code::kDataLoss);
    EXPECT_THAT(found.error().message, HasSubstr("shard-test-00000"));
  }
}

TEST_F(ShardWriterTest, MoreRejectsThanAllowedStopAShard) {
  Code code{};
  for (const ShardTask& task : tasks) {
    const auto made = write_shard(context(0), arrangement, task);
    if (!made) code = made.error().code;
  }
  EXPECT_EQ(code, Code::kInvalidArgument);
}

TEST(ShardBodies, AMemberEndsWithTheRecordThatFillsIt) {
  constexpr std::size_t kMember = 1 << 20, kFraming = 16;
  StoreRegistry stores{Environment{}};
  const auto members = [&](const std::string& name, const std::vector<std::size_t>& sizes) {
    auto upload = OnceUpload::start(*stores.open("memory://bodies/" + name));
    EXPECT_TRUE(upload);
    auto body = ShardBody::create("gzip", 6, *std::move(upload));
    EXPECT_TRUE(body);
    for (const std::size_t size : sizes) EXPECT_TRUE(body->add(Bytes(size)));
    const auto index = body->finish();
    EXPECT_TRUE(index);
    return index->members().size();
  };
  EXPECT_EQ(members("full", {kMember - kFraming, 1}), 2U);
  EXPECT_EQ(members("not full", {kMember - kFraming - 1, 1}), 1U);
  EXPECT_EQ(members("two", {kMember / 2, kMember / 2, 1}), 2U);
  EXPECT_EQ(members("filled at the end", {kMember / 2, kMember / 2}), 1U);
}

}  // namespace
}  // namespace headrace
