#include "headrace/prepare/write/publish.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "headrace/base/crc32c.h"
#include "headrace/base/digest.h"
#include "headrace/engine/hash/hash_encoder.h"
#include "headrace/prepare/sort/spill_store.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/registry.h"
#include "headrace/track/published_folder.h"

namespace headrace {
namespace {

using testing::HasSubstr;

constexpr std::string_view kManifest = "data/_headrace/manifest-00000002";  // after the entry

bool is_manifest(std::string_view key) { return key.find("/_headrace/manifest-") != key.npos; }

// Refuses to write manifests, as if the process had died there.
class DyingAtManifestStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    if (is_manifest(key)) return Error{Code::kUnavailable, "the process is gone"};
    return inner().write(key, data, options);
  }
};

// Notes whether the manifest was there whenever something was removed.
class RemovalStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Status remove_many(std::span<const std::string> keys, const CallOptions& options) override {
    was_published.push_back(inner().stat(kManifest, {}).has_value());
    return inner().remove_many(keys, options);
  }
  std::vector<bool> was_published;
};

// Two rows in one shard, and a report on the slice that they came from.
class PublishTest : public testing::Test {
 protected:
  PublishTest() {
    const std::string report = "a line";
    arrangement.counts = {.in = 2, .kept = 2};
    arrangement.slice_parts = {{.key = "report-00000.jsonl.gz",
                                .size_bytes = report.size(),
                                .crc32c = crc32c(as_bytes(report)),
                                .role = "report",
                                .records = 1}};
    receipts = {{.split = "train",
                 .shard = ManifestPart{.key = "train-0", .role = "shard", .split = "train", .records = 2},
                 .index = ManifestPart{.key = "_headrace/index/train-0", .role = "index", .records = 2},
                 .in = 2,
                 .written = 2}};
    for (const char* name : {"report-00000.jsonl.gz", "slice-00000", "shard-train-00000"})
      EXPECT_TRUE(write_text(*output.store, work.at(name).key, report));
    EXPECT_TRUE(Ownership::take(output, {}, {.action = OwnershipAction::kBegin}));
  }

  Result<PrepareResult> publish_through(std::shared_ptr<Store> store) {
    Location place = output;
    place.store = std::move(store);
    const TaskContext context{.plan = plan,
                              .plan_digest = digest,
                              .encoders = encoders,
                              .stores = stores,
                              .spills = spills,
                              .output = place,
                              .entry = 1};
    Ownership ownership(place, 1, 1, 1);
    return publish(context, arrangement, receipts, max_rejects, ownership, "run-1");
  }
  Result<PrepareResult> publish_it() { return publish_through(output.store); }

  std::size_t work_objects() { return list_all(*output.store, work.key)->size(); }
  bool is_published() { return output.store->stat(kManifest, {}).has_value(); }

  StoreRegistry stores{Environment{}};
  Location output = *stores.open("memory://publish/data");
  std::string digest = sha256_hex(as_bytes("a plan"));
  Location work = work_folder(output, name_tag(digest, 1));
  PreparePlan plan;
  TextEncoders encoders;
  SpillStore spills{work, 0};
  Arrangement arrangement;
  std::vector<ShardReceipt> receipts;
  RejectLimit max_rejects;
};

TEST_F(PublishTest, AProcessThatDiesBeforeTheManifestLeavesAllWorkForTheNext) {
  const auto died = publish_through(std::make_shared<DyingAtManifestStore>(output.store));
  ASSERT_FALSE(died);
  EXPECT_EQ(died.error().code, Code::kUnavailable);
  EXPECT_FALSE(is_published());
  EXPECT_EQ(work_objects(), 3U);
  const auto next = publish_it();
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_TRUE(is_published());
}

TEST_F(PublishTest, WorkIsRemovedOnceTheManifestIsThereAndNotBefore) {
  const auto watched = std::make_shared<RemovalStore>(output.store);
  const auto made = publish_through(watched);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_FALSE(watched->was_published.empty());
  for (const bool was_published : watched->was_published) EXPECT_TRUE(was_published);
  EXPECT_EQ(work_objects(), 0U);
}

TEST_F(PublishTest, TheManifestSaysWhichFeaturesRecordsMayLack) {
  plan.schema = *parse_schema(
      "[features.age]\ntype = 'int64'\noptional = true\n"
      "[features.filled]\ntype = 'string'\noptional = true\ndefault = 'none'\n"
      "[features.name]\ntype = 'string'\n",
      "test.toml");
  const auto made = publish_it();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->attributes.features.at("age").is_optional);
  EXPECT_FALSE(made->attributes.features.at("filled").is_optional)
      << "its default stands in for a missing cell";
  EXPECT_FALSE(made->attributes.features.at("name").is_optional);
}

TEST_F(PublishTest, TheManifestSaysWhichFeatureNamesTheRecords) {
  plan.schema = *parse_schema(
      "id = 'key'\n[features.number]\ntype = 'int64'\ncolumn = 'key'\n"
      "[features.id]\ntype = 'string'\n",
      "test.toml");
  const auto made = publish_it();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->attributes.features.at("number").is_id);
  EXPECT_FALSE(made->attributes.features.at("id").is_id);
}

TEST_F(PublishTest, RowsThatWereKeptAndCameToNoShardStopIt) {
  receipts.front().in = 1;  // although two were written; all other counts add up
  const auto made = publish_it();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kInternal);
  EXPECT_THAT(made.error().message, HasSubstr("2 rows were to be written, but 1 reached shards"));
  EXPECT_FALSE(is_published());
  EXPECT_EQ(work_objects(), 3U);
}

TEST_F(PublishTest, CountsThatDoNotAddUpStopIt) {
  arrangement.counts.in = 3;
  const auto made = publish_it();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kInternal);
  EXPECT_THAT(made.error().message, HasSubstr("of 3 rows read, 2 are accounted for"));
  EXPECT_FALSE(is_published());
}

TEST_F(PublishTest, ALatePublisherLeavesPublishedPartsInTheirVersion) {
  const std::string report = "data/_headrace/report/" + digest.substr(0, 8) + "-00000.jsonl.gz";
  ASSERT_FALSE(publish_through(std::make_shared<DyingAtManifestStore>(output.store)));
  const Version before = output.store->stat(report, {})->version;
  ASSERT_TRUE(publish_it());
  EXPECT_EQ(output.store->stat(report, {})->version, before);
  ASSERT_TRUE(write_text(*output.store, work.at("report-00000.jsonl.gz").key, "a line"));
  const auto late = publish_it();
  ASSERT_TRUE(late) << late.error().message;
  EXPECT_EQ(late->manifest_number, 2U);
  EXPECT_EQ(output.store->stat(report, {})->version, before);
}

TEST_F(PublishTest, TheManifestSaysWhatEveryFeatureIs) {
  using Kind = FeatureShape::Kind;
  plan.schema.features = {
      {.name = "class", .type = SchemaType::kLabel, .one_hot = true},
      {.name = "hash", .type = SchemaType::kVector, .encoder = "hash:16"},
      {.name = "height", .type = SchemaType::kImageHeight},
      {.name = "image", .type = SchemaType::kImage},
      {.name = "kind", .type = SchemaType::kLabel},
      {.name = "list", .type = SchemaType::kFloat32, .shape = {Kind::kRagged, 0}},
      {.name = "number", .type = SchemaType::kInt64},
      {.name = "pair", .type = SchemaType::kInt64, .shape = {Kind::kFixed, 2}},
      {.name = "texts", .type = SchemaType::kString, .shape = {Kind::kFixed, 3}},
  };
  for (FeatureDefinition& feature : plan.schema.features) feature.columns = {feature.name};
  plan.schema.features[2].columns = {"image"};
  plan.schema.features[7].columns = {"left", "right"};
  plan.schema.features[2].image_feature = "image";
  encoders["hash:16"] = *make_hash_encoder(16);
  arrangement.vocabularies = {{"class", {"cat", "dog", "cow"}}, {"kind", {"a", "b"}}};
  const auto made = publish_it();
  ASSERT_TRUE(made) << made.error().message;
  using Shape = std::vector<std::int64_t>;
  const std::map<std::string, std::pair<std::string, std::optional<Shape>>> expected = {
      {"class", {"int64", Shape{3}}}, {"hash", {"float32", Shape{16}}}, {"height", {"int64", Shape{}}},
      {"image", {"bytes", Shape{}}},  {"kind", {"int64", Shape{}}},     {"list", {"float32", std::nullopt}},
      {"number", {"int64", Shape{}}}, {"pair", {"int64", Shape{2}}},    {"texts", {"bytes", Shape{3}}}};
  ASSERT_EQ(made->attributes.features.size(), expected.size());
  for (const auto& [name, feature] : made->attributes.features) {
    EXPECT_EQ(feature.dtype, expected.at(name).first) << name;
    EXPECT_EQ(feature.shape, expected.at(name).second) << name;
    EXPECT_EQ(feature.columns.size(), name == "pair" ? 2 : 0) << name;
  }
  EXPECT_THAT(made->attributes.features.at("pair").columns, testing::ElementsAre("left", "right"));
  ASSERT_EQ(made->attributes.encoders.size(), 1U);
  EXPECT_EQ(made->attributes.encoders.at("hash").name, "hash:16");
  EXPECT_EQ(made->attributes.encoders.at("hash").dimension, 16);
  EXPECT_TRUE(made->attributes.labels.empty()) << "two labels, and none is called label";
}

TEST_F(PublishTest, CountsOfAllShardsAndSlicesAreAddedUp) {
  plan.schema.features = {{.name = "kind", .type = SchemaType::kLabel, .columns = {"kind"}}};
  plan.compression = "gzip";
  plan.compression_level = 4;
  arrangement.vocabularies = {{"kind", {"a", "b"}}};
  arrangement.counts = {.in = 12, .kept = 9, .rejected = 1, .ignored = 2};
  arrangement.reasons = {{"missing", 1}};
  receipts.front().labels = {{"kind", {{"a", 2}}}};
  receipts.push_back({.split = "test", .in = 4, .written = 2, .rejected = 1, .dropped = 1});
  receipts.back().shard = ManifestPart{.key = "test-0", .size_bytes = 5, .role = "shard", .split = "test"};
  receipts.back().index = ManifestPart{.key = "_headrace/index/test-0", .role = "index"};
  receipts.back().report = ManifestPart{.key = "_headrace/report/test-0", .role = "report"};
  receipts.back().reasons = {{"missing", 2}, {"other", 1}};
  receipts.back().labels = {{"kind", {{"a", 1}, {"b", 1}}}};
  receipts.push_back({.split = "test", .in = 3, .written = 3});
  receipts.back().labels = {{"kind", {{"b", 3}}}};
  // The receipt without a shard, which has no row, must not be the last.
  std::swap(receipts[1], receipts[2]);
  EXPECT_EQ(publish_it().error().code, Code::kInvalidArgument) << "two rows more were rejected than allowed";
  max_rejects = {.rows = 2};
  const auto made = publish_it();
  ASSERT_TRUE(made) << made.error().message;
  const DatasetAttributes& attributes = made->attributes;
  using Counts = std::map<std::string, std::uint64_t>;
  EXPECT_EQ(attributes.counts,
            (Counts{{"in", 12}, {"written", 7}, {"rejected", 2}, {"dropped", 1}, {"ignored", 2}}));
  EXPECT_EQ(attributes.reasons, (Counts{{"missing", 3}, {"other", 1}}));
  EXPECT_EQ(attributes.splits.at("train").records, 2U);
  EXPECT_EQ(attributes.splits.at("test").records, 5U);
  EXPECT_EQ(attributes.splits.at("test").labels, (Counts{{"a", 1}, {"b", 4}}));
  EXPECT_EQ(attributes.labels, (std::vector<std::string>{"a", "b"})) << "the only label";
  EXPECT_EQ(attributes.compression_level, 4);
  EXPECT_EQ(made->shards, 2U);
  EXPECT_EQ(made->shard_bytes, 5U);
  EXPECT_EQ(made->manifest_number, 2U);
}

TEST_F(PublishTest, WhatIsContinuedIsAddedAndRowsThatWereRetriedCountOnce) {
  auto base = std::make_shared<BaseDataset>();
  base->number = 1;
  base->manifest.parts = {{.key = "train-of-base", .size_bytes = 7, .role = "shard", .split = "train"}};
  base->attributes = {.splits = {{"train", {.records = 5, .labels = {{"a", 5}}}}},
                      .counts = {{"in", 8}, {"written", 5}, {"rejected", 3}, {"dropped", 0}, {"ignored", 0}},
                      .reasons = {{"missing", 2}, {"other", 1}},
                      .inputs = {{"memory://old", 1, "1"}, {"memory://new", 2, "1"}}};
  plan.base = base;
  plan.input.url = "memory://new";
  plan.input.version = "2";
  arrangement.retried = {{"missing", 2}};
  const auto made = publish_it();
  ASSERT_TRUE(made) << made.error().message;
  const DatasetAttributes& attributes = made->attributes;
  using Counts = std::map<std::string, std::uint64_t>;
  EXPECT_EQ(attributes.counts,
            (Counts{{"in", 8}, {"written", 7}, {"rejected", 1}, {"dropped", 0}, {"ignored", 0}}));
  EXPECT_EQ(attributes.reasons, (Counts{{"other", 1}}));
  EXPECT_EQ(attributes.splits.at("train").records, 7U);
  EXPECT_EQ(attributes.splits.at("train").labels, (Counts{{"a", 5}}));
  ASSERT_EQ(attributes.inputs.size(), 2U);
  EXPECT_EQ(attributes.inputs[0].url, "memory://old");
  EXPECT_EQ(attributes.inputs[1].version, "2");
  EXPECT_EQ(made->shards, 2U);
  const auto published = read_published(output);
  ASSERT_TRUE(published && *published);
  EXPECT_EQ((*published)->manifest.parts.front().key, "train-of-base");
}

TEST_F(PublishTest, MoreRetriedRowsThanWereRejectedStopIt) {
  auto base = std::make_shared<BaseDataset>();
  base->attributes = {.counts = {{"in", 8}, {"written", 7}, {"rejected", 1}, {"dropped", 0}, {"ignored", 0}},
                      .reasons = {{"missing", 1}}};
  plan.base = base;
  arrangement.retried = {{"missing", 2}};
  const auto made = publish_it();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kInternal);
  EXPECT_THAT(made.error().message, HasSubstr("2 rows were retried, but only 1"));
  arrangement.retried = {{"missing", 1}};
  EXPECT_TRUE(publish_it());
}

TEST_F(PublishTest, TheResultOfAPlanIsFoundOnlyUnderItsEntry) {
  const TaskContext unclaimed{.plan = plan,
                              .plan_digest = digest,
                              .encoders = encoders,
                              .stores = stores,
                              .spills = spills,
                              .output = output};
  TaskContext claimed = unclaimed;
  claimed.entry = 1;
  EXPECT_EQ(*find_published(claimed), std::nullopt);
  const auto made = publish_it();
  ASSERT_TRUE(made);
  EXPECT_EQ(*find_published(unclaimed), std::nullopt);
  ASSERT_TRUE(write_text(*output.store, work.at("late").key, "of a process that was slow"));
  const auto found = find_published(claimed);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->manifest_digest, made->manifest_digest);
  EXPECT_EQ((*found)->manifest_number, 2U);
  EXPECT_EQ((*found)->attributes.counts.at("written"), 2U);
  EXPECT_TRUE((*found)->was_published);
  EXPECT_EQ(work_objects(), 0U);
  EXPECT_EQ(read_result(claimed, 9).error().code, Code::kAborted);
  const std::string other_digest = sha256_hex(as_bytes("another plan"));
  const TaskContext of_another{.plan = plan,
                               .plan_digest = other_digest,
                               .encoders = encoders,
                               .stores = stores,
                               .spills = spills,
                               .output = output,
                               .entry = 1};
  EXPECT_EQ(find_published(of_another).error().code, Code::kFailedPrecondition);
}

TEST_F(PublishTest, WhoeverWasTakenOverFindsNoResult) {
  ASSERT_TRUE(Ownership::take(output, *read_chain(output), {.action = OwnershipAction::kOverwrite}));
  const TaskContext claimed{.plan = plan,
                            .plan_digest = digest,
                            .encoders = encoders,
                            .stores = stores,
                            .spills = spills,
                            .output = output,
                            .entry = 1};
  const auto lost = find_published(claimed);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::kAborted);
}

TEST_F(PublishTest, WhereNothingIsNewTheBaseIsTheResult) {
  auto base = std::make_shared<BaseDataset>();
  base->number = 4;
  base->digest = "d";
  base->manifest.parts = {{.key = "train-of-base", .size_bytes = 7, .role = "shard"}};
  base->manifest.attributes_json = dataset_attributes_to_json({.counts = {{"in", 8}}});
  EXPECT_FALSE(has_nothing_new(plan, {}));
  plan.base = base;
  EXPECT_TRUE(has_nothing_new(plan, {}));
  EXPECT_FALSE(has_nothing_new(plan, arrangement));
  const TaskContext context{.plan = plan,
                            .plan_digest = digest,
                            .encoders = encoders,
                            .stores = stores,
                            .spills = spills,
                            .output = output,
                            .entry = 1};
  const auto left = leave_base(context);
  ASSERT_TRUE(left) << left.error().message;
  EXPECT_EQ(left->manifest_number, 4U);
  EXPECT_EQ(left->manifest_digest, "d");
  EXPECT_EQ(left->attributes.counts.at("in"), 8U);
  EXPECT_EQ(left->shards, 1U);
  EXPECT_EQ(left->shard_bytes, 7U);
  EXPECT_EQ(work_objects(), 3U) << "others with the same plan may need them";
}

TEST_F(PublishTest, TheManifestNamesShardsAndReportsAndTheResultCountsThem) {
  receipts.front().shard->size_bytes = 70;
  arrangement.row_bytes = 33;
  const auto made = publish_it();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->shards, 1U);
  EXPECT_EQ(made->shard_bytes, 70U);
  EXPECT_EQ(made->row_bytes, 33U);
  EXPECT_FALSE(made->was_published);
  EXPECT_EQ(made->attributes.counts.at("written"), 2U);
  EXPECT_EQ(made->attributes.splits.at("train").records, 2U);
  const auto published = read_published(output, kDatasetKind);
  ASSERT_TRUE(published && *published);
  EXPECT_EQ(made->manifest_number, (*published)->number);
  EXPECT_EQ(made->manifest_digest, (*published)->digest);
  const Manifest& manifest = (*published)->manifest;
  EXPECT_EQ(manifest.created_by, "run-1");
  EXPECT_EQ(manifest.plan, digest);
  std::vector<std::string> keys;
  for (const ManifestPart& part : manifest.parts) keys.push_back(part.key);
  EXPECT_THAT(keys, testing::ElementsAre("train-0", "_headrace/index/train-0",
                                         "_headrace/report/" + digest.substr(0, 8) + "-00000.jsonl.gz"));
}

TEST_F(PublishTest, MoreRejectsThanAllowedStopItWithTheFirst) {
  arrangement.counts = {.in = 4, .kept = 3, .rejected = 1};
  receipts.front().in = 3;
  receipts.front().rejected = 1;
  receipts.front().first_rejection = "the second row";
  const auto refused = publish_it();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("the second row"));
  EXPECT_FALSE(is_published());
  max_rejects = {.rows = 1};
  EXPECT_FALSE(publish_it());
  max_rejects = {.rows = 2};
  const auto made = publish_it();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->attributes.counts.at("rejected"), 2U);
}

TEST_F(PublishTest, APublishedResultIsFoundByItsPlan) {
  TaskContext context{.plan = plan,
                      .plan_digest = digest,
                      .encoders = encoders,
                      .stores = stores,
                      .spills = spills,
                      .output = output};
  EXPECT_EQ(find_published(context)->has_value(), false) << "nothing was claimed";
  context.entry = 1;
  EXPECT_EQ(find_published(context)->has_value(), false);
  EXPECT_EQ(read_result(context, 2).error().code, Code::kAborted) << "it is gone";
  const auto made = publish_it();
  ASSERT_TRUE(made) << made.error().message;
  const auto found = find_published(context);
  ASSERT_TRUE(found && *found);
  EXPECT_TRUE((*found)->was_published);
  EXPECT_EQ((*found)->manifest_number, 2U);
  EXPECT_EQ((*found)->manifest_digest, made->manifest_digest);
  EXPECT_EQ((*found)->shards, 1U);
  context.plan_digest = sha256_hex(as_bytes("another plan"));
  EXPECT_EQ(read_result(context, 2).error().code, Code::kFailedPrecondition);
}

}  // namespace
}  // namespace headrace
