#include "headrace/record/manifest.h"

#include "headrace/base/text.h"
#include "headrace/record/sealed_json.h"

namespace headrace {
namespace {

Manifest example() {
  Manifest manifest{.kind = "dataset", .created_by = "run", .plan = "0123"};
  manifest.parts = {{.key = "train-a.tfrecord.gz",
                     .size_bytes = 7,
                     .crc32c = 0xe3069283U,
                     .role = "shard",
                     .split = "train",
                     .records = 3,
                     .index = "train-a.index",
                     .blocks = {{2, 4, 90}, {1, 3, 50}}},
                    {.key = "train-a.index", .size_bytes = 1, .crc32c = 5, .role = "index"}};
  DatasetAttributes attributes{.compression = "gzip",
                               .compression_level = 1,
                               .labels = {"pos", "neg"},
                               .encoder = {"hash:8", "d", 8},
                               .seed = 44};
  attributes.features = {{"sentence", {"float32", std::vector<std::int64_t>{8}}},
                         {"text", {"bytes", std::vector<std::int64_t>{}}},
                         {"tags", {"bytes", {}}}};
  attributes.splits["train"] = {3, {{"pos", 1}, {"neg", 2}}};
  attributes.counts = {{"in", 4}, {"written", 3}, {"ignored", 1}};
  attributes.inputs = {{"file:///a.tar.gz", 100, "v"}};
  manifest.attributes_json = dataset_attributes_to_json(attributes);
  return manifest;
}

TEST(Manifest, WhatWasSerializedIsParsed) {
  const std::string text = serialize_manifest(example());
  const auto parsed = parse_manifest(as_bytes(text));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(serialize_manifest(*parsed), text);
  EXPECT_EQ(parsed->parts[0].records, 3U);
  EXPECT_EQ(parsed->parts[0].crc32c, 0xe3069283U);
  EXPECT_EQ(parsed->parts[0].blocks, example().parts[0].blocks);
  EXPECT_FALSE(parsed->parts[1].records);
  const auto attributes = parse_dataset_attributes(parsed->attributes_json);
  ASSERT_TRUE(attributes) << attributes.error().message;
  EXPECT_EQ(attributes->splits.at("train").labels.at("neg"), 2U);
  EXPECT_TRUE(attributes->features.at("text").shape->empty());
  EXPECT_FALSE(attributes->features.at("tags").shape);
}

TEST(Manifest, BlocksThatCannotBeTheShardsAreRefused) {
  const std::vector<std::vector<ShardBlock>> wrong = {{{2, 4, 90}},              // not all records
                                                      {{2, 4, 90}, {2, 3, 50}},  // too many
                                                      {{3, 8, 90}},              // beyond the shard
                                                      {{3, 7, 47}},              // 16 bytes a record at least
                                                      {{0, 0, 0}, {3, 7, 90}}};
  for (const auto& blocks : wrong) {
    Manifest manifest = example();
    manifest.parts[0].blocks = blocks;
    const auto parsed = parse_manifest(as_bytes(serialize_manifest(manifest)));
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, Code::kDataLoss);
    EXPECT_THAT(parsed.error().message, testing::HasSubstr("the blocks of train-a.tfrecord.gz"));
  }
}

TEST(Manifest, APartIsTheSameAlone) {
  const ManifestPart part = example().parts[0];
  const auto parsed = parse_manifest_part(manifest_part_to_json(part));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->blocks, part.blocks);
  EXPECT_EQ(parsed->key, part.key);
  EXPECT_EQ(parse_manifest_part("{}").error().code, Code::kDataLoss);
}

TEST(Manifest, EveryFlippedBitIsNoticed) {
  const std::string text = serialize_manifest(example());
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = text;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      const auto parsed = parse_manifest(as_bytes(damaged));
      // White space outside of strings may change without a change of content.
      if (parsed) {
        EXPECT_EQ(serialize_manifest(*parsed), text) << "bit " << bit << " of byte " << i;
      }
    }
  }
}

TEST(Manifest, WhatNestsWithoutEndIsRefused) {
  const std::string deep = concat(std::string(200'000, '['), std::string(200'000, ']'));
  for (const std::string& text :
       {deep, concat(R"({"format":)", deep, "}"),
        seal_json(concat(R"({"attributes":)", deep,
                         R"(,"created_by":"","format":"headrace.manifest","kind":"",)"
                         R"("parts":[],"plan":"","version":1})",
                         "\n"))}) {
    const auto parsed = parse_manifest(as_bytes(text));
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, Code::kDataLoss);
  }
}

TEST(Manifest, CutOffOrNewerOnesAreRefused) {
  const std::string text = serialize_manifest(example());
  for (std::size_t size = 0; size + 1 < text.size(); size += 7) {
    const auto parsed = parse_manifest(as_bytes(text).first(size));
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, Code::kDataLoss);
  }
  const auto newer = parse_manifest(as_bytes(R"({"format":"headrace.manifest","version":2})"));
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code, Code::kUnimplemented);
}

}  // namespace
}  // namespace headrace
