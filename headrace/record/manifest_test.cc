#include "headrace/record/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/json.h"
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
                     .blocks = {{2, 4, 90}, {1, 3, 50}},
                     .thousandths = {998, {1, 2}}},
                    {.key = "train-a.index", .size_bytes = 1, .crc32c = 5, .role = "index"}};
  DatasetAttributes attributes{.compression = "gzip",
                               .compression_level = 1,
                               .labels = {"pos", "neg"},
                               .encoders = {{"v", {"hash:8", "d", 8}}},
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
  EXPECT_EQ(parsed->parts[0].thousandths, example().parts[0].thousandths);
  EXPECT_TRUE(parsed->parts[1].thousandths.records.empty());
  EXPECT_FALSE(parsed->parts[1].records);
  const auto attributes = parse_dataset_attributes(parsed->attributes_json);
  ASSERT_TRUE(attributes) << attributes.error().message;
  EXPECT_EQ(attributes->splits.at("train").labels.at("neg"), 2U);
  EXPECT_TRUE(attributes->features.at("text").shape->empty());
  EXPECT_FALSE(attributes->features.at("tags").shape);
}

TEST(Manifest, ThousandthsThatCannotBeTheShardsAreRefused) {
  const std::vector<ShardThousandths> wrong = {{998, {1, 1}},     // not all records
                                               {998, {1, 3}},     // too many
                                               {0, {3, 0}},       // empty at the end
                                               {0, {0, 3}},       // empty at the front
                                               {999, {1, 2}},     // beyond the last
                                               {~0ULL, {1, 2}}};  // the same, and a sum of 2^64
  for (const ShardThousandths& thousandths : wrong) {
    Manifest manifest = example();
    manifest.parts[0].thousandths = thousandths;
    const auto parsed = parse_manifest(as_bytes(serialize_manifest(manifest)));
    ASSERT_FALSE(parsed) << thousandths.first;
    EXPECT_EQ(parsed.error().code, Code::kDataLoss);
    EXPECT_THAT(parsed.error().message, testing::HasSubstr("the thousandths of train-a.tfrecord.gz"));
  }
  Manifest manifest = example();
  Json empty = manifest_part_to_json(manifest.parts[0]);
  empty["thousandths"] = Json::array();
  EXPECT_THROW(manifest_part_from_json(empty), JsonError);
}

TEST(Manifest, BlocksThatCannotBeTheShardsAreRefused) {
  const std::vector<std::vector<ShardBlock>> wrong = {{{2, 4, 90}},              // not all records
                                                      {{2, 4, 90}, {2, 3, 50}},  // too many
                                                      {{3, 8, 90}},              // beyond the shard
                                                      {{2, 4, 90}, {1, 2, 50}},  // not all of the shard
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

// The example as JSON text with one piece replaced, and sealed again.
std::string altered(std::string_view piece, std::string_view by) {
  std::string text = serialize_manifest(example());
  text = text.substr(0, text.rfind(",\"zz_crc32c\"")) + "}\n";
  const std::size_t at = text.find(piece);
  EXPECT_NE(at, text.npos) << piece;
  return seal_json(text.replace(at, piece.size(), by));
}

Error error_of(const std::string& text) {
  const auto parsed = parse_manifest(as_bytes(text));
  return parsed ? Error{Code::kInternal, "it was parsed"} : parsed.error();
}

TEST(Manifest, OfAnUncompressedDataSetBlocksAreStoredAsTheyAre) {
  Manifest manifest = example();
  DatasetAttributes attributes = *parse_dataset_attributes(manifest.attributes_json);
  attributes.compression = "none";
  manifest.attributes_json = dataset_attributes_to_json(attributes);
  EXPECT_EQ(error_of(serialize_manifest(manifest)).code, Code::kDataLoss);
  manifest.parts[0].size_bytes = 140;
  manifest.parts[0].blocks = {{2, 90, 90}, {1, 50, 50}};
  EXPECT_TRUE(parse_manifest(as_bytes(serialize_manifest(manifest))));
  manifest.parts[0].blocks = {{2, 90, 91}, {1, 50, 50}};
  EXPECT_THAT(error_of(serialize_manifest(manifest)).message,
              testing::HasSubstr("the blocks of train-a.tfrecord.gz"));
}

TEST(Manifest, WhatIsNoWholeNumberInRangeIsRefused) {
  ASSERT_TRUE(parse_manifest(as_bytes(altered("\"version\":1", "\"version\":1"))));
  for (const char* wrong :
       {"0", "-5", "-1", "1.0", "1.9", "18446744073709551617", "1e400", "\"1\"", "null"}) {
    const Error error = error_of(altered("\"version\":1", concat("\"version\":", wrong)));
    EXPECT_EQ(error.code, Code::kDataLoss) << wrong << ": " << error.message;
  }
  for (const char* newer : {"2", "4294967297", "18446744073709551615"}) {
    const Error error = error_of(altered("\"version\":1", concat("\"version\":", newer)));
    EXPECT_EQ(error.code, Code::kUnimplemented) << error.message;
    EXPECT_THAT(error.message, testing::HasSubstr(newer));
  }
  for (const char* piece : {"\"size_bytes\":7", "\"records\":3,\"role\"", "[[2,"}) {
    for (const char* wrong : {"-7", "7.0", "0.5", "18446744073709551616", "true"}) {
      std::string by = piece;
      by.replace(by.find_first_of("0123456789"), 1, wrong);
      const Error error = error_of(altered(piece, by));
      EXPECT_EQ(error.code, Code::kDataLoss) << by << ": " << error.message;
    }
  }
  for (const char* wrong : {"", "e306928", "0xe30692", "-3069283", "e306928g", "e30692830"})
    EXPECT_EQ(error_of(altered("e3069283", wrong)).code, Code::kDataLoss) << wrong;
}

TEST(Manifest, AttributesHoldWholeNumbersInRange) {
  const std::string text = example().attributes_json;
  ASSERT_TRUE(parse_dataset_attributes(text));
  for (const char* piece : {"\"compression_level\":1", "\"dimension\":8", "\"in\":4", "\"seed\":44",
                            "\"shape\":[8", "\"neg\":2", "\"records\":3", "\"size_bytes\":100"}) {
    const std::string name(piece, std::string_view(piece).find_first_of("0123456789"));
    for (const char* wrong : {"1.5", "1e300", "99999999999999999999"}) {
      std::string damaged = text;
      const std::size_t at = damaged.find(piece);
      ASSERT_NE(at, damaged.npos) << piece;
      const auto parsed =
          parse_dataset_attributes(damaged.replace(at, std::string_view(piece).size(), name + wrong));
      ASSERT_FALSE(parsed) << name << wrong;
      EXPECT_EQ(parsed.error().code, Code::kDataLoss);
    }
  }
}

TEST(Manifest, APartLiesWithinTheFolder) {
  for (const char* wrong : {"../x", "/x", "a/../../x", "", "a//b", "."}) {
    Manifest manifest = example();
    manifest.parts[1].key = wrong;
    const Error error = error_of(serialize_manifest(manifest));
    EXPECT_EQ(error.code, Code::kDataLoss);
    EXPECT_THAT(error.message, testing::HasSubstr("is not a valid key")) << wrong;
    EXPECT_THROW(manifest_part_from_json(manifest_part_to_json(manifest.parts[1])), JsonError);
  }
  Manifest manifest = example();
  manifest.parts[0].index = "../index";
  EXPECT_EQ(error_of(serialize_manifest(manifest)).code, Code::kDataLoss);
}

TEST(Manifest, WhatPartsComeToFitsIntoAnInteger) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 61;
  const auto last_with = [](std::uint64_t size_bytes, std::optional<std::uint64_t> records,
                            std::uint64_t stream_bytes) {
    Manifest manifest = example();
    for (const char* key : {"b", "c"}) {
      manifest.parts.push_back({.key = key, .size_bytes = size_bytes, .role = "shard", .records = records});
      if (stream_bytes > 0) manifest.parts.back().blocks = {{*records, size_bytes, stream_bytes}};
    }
    return serialize_manifest(manifest);
  };
  EXPECT_TRUE(parse_manifest(as_bytes(last_with(kHalf - 5, kHalf - 5, 0))));
  EXPECT_TRUE(parse_manifest(as_bytes(last_with(1, 1, kHalf - 100))));
  for (const std::string& text : {last_with(kHalf, {}, 0), last_with(1, kHalf, 0), last_with(1, 1, kHalf)}) {
    const Error error = error_of(text);
    EXPECT_EQ(error.code, Code::kDataLoss);
    EXPECT_THAT(error.message, testing::HasSubstr("with c, the "));
  }
}

TEST(Manifest, APartIsTheSameAlone) {
  const ManifestPart part = example().parts[0];
  const ManifestPart parsed = manifest_part_from_json(manifest_part_to_json(part));
  EXPECT_EQ(parsed.blocks, part.blocks);
  EXPECT_EQ(parsed.thousandths, part.thousandths);
  EXPECT_EQ(parsed.key, part.key);
  EXPECT_THROW(manifest_part_from_json(Json::object()), JsonError);
}

TEST(Manifest, EveryFlippedBitIsNoticed) {
  const std::string text = serialize_manifest(example());
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = text;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      const auto parsed = parse_manifest(as_bytes(damaged));
      // White space outside of strings may change without changing the content.
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

TEST(Manifest, APartHoldsWhatItHasAndNothingElse) {
  EXPECT_EQ(manifest_part_to_json(example().parts[0]).dump(),
            R"({"blocks":[[2,4,90],[1,3,50]],"crc32c":"e3069283","index":"train-a.index",)"
            R"("key":"train-a.tfrecord.gz","records":3,"role":"shard","size_bytes":7,"split":"train",)"
            R"("thousandths":[998,1,2]})");
  EXPECT_EQ(manifest_part_to_json(example().parts[1]).dump(),
            R"({"crc32c":"00000005","key":"train-a.index","role":"index","size_bytes":1})");
  const ManifestPart part = manifest_part_from_json(manifest_part_to_json(example().parts[0]));
  EXPECT_EQ(part.size_bytes, 7U);
  EXPECT_EQ(part.role, "shard");
  EXPECT_EQ(part.split, "train");
  EXPECT_EQ(part.index, "train-a.index");
}

TEST(Manifest, TheOwnersEntryIsKept) {
  Manifest manifest = example();
  EXPECT_THAT(serialize_manifest(manifest), testing::Not(testing::HasSubstr("\"entry\"")));
  manifest.entry = 1;
  const auto parsed = parse_manifest(as_bytes(serialize_manifest(manifest)));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->entry, 1U);
  EXPECT_EQ(parsed->kind, "dataset");
  EXPECT_EQ(parsed->created_by, "run");
  EXPECT_EQ(parsed->plan, "0123");
  EXPECT_EQ(parse_manifest(as_bytes(serialize_manifest(example())))->entry, 0U);
}

TEST(Manifest, AttributesComeBackAsTheyWere) {
  DatasetAttributes attributes{.compression = "gzip",
                               .compression_level = 6,
                               .labels = {"pos", "neg"},
                               .vocabularies = {{"genre", {"a", "b"}}},
                               .schema = "[text]",
                               .encoders = {{"v", {"hash:8", "digest", 8}}},
                               .counts = {{"in", 4}},
                               .reasons = {{"empty", 1}},
                               .inputs = {{"file:///a", 100, "v"}},
                               .seed = 44};
  const std::string text = dataset_attributes_to_json(attributes);
  const auto parsed = parse_dataset_attributes(text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(dataset_attributes_to_json(*parsed), text);
  EXPECT_EQ(parsed->compression, "gzip");
  EXPECT_EQ(parsed->compression_level, 6);
  EXPECT_EQ(parsed->labels, attributes.labels);
  EXPECT_EQ(parsed->vocabularies, attributes.vocabularies);
  EXPECT_EQ(parsed->schema, "[text]");
  EXPECT_EQ(parsed->encoders, attributes.encoders);
  EXPECT_EQ(parsed->counts, attributes.counts);
  EXPECT_EQ(parsed->reasons, attributes.reasons);
  ASSERT_EQ(parsed->inputs.size(), 1U);
  EXPECT_EQ(parsed->inputs[0].url, "file:///a");
  EXPECT_EQ(parsed->inputs[0].size_bytes, 100U);
  EXPECT_EQ(parsed->inputs[0].version, "v");
  EXPECT_EQ(parsed->seed, 44U);
}

TEST(Manifest, AFeatureSaysWhetherRecordsMayLackIt) {
  DatasetAttributes attributes{.compression = "none"};
  attributes.features = {{"age", {.dtype = "int64", .is_optional = true}}, {"name", {.dtype = "bytes"}}};
  const std::string text = dataset_attributes_to_json(attributes);
  EXPECT_THAT(text, testing::HasSubstr(
                        R"("features":{"age":{"dtype":"int64","optional":true},"name":{"dtype":"bytes"}})"));
  const auto parsed = parse_dataset_attributes(text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_TRUE(parsed->features.at("age").is_optional);
  EXPECT_FALSE(parsed->features.at("name").is_optional);
}

TEST(Manifest, AFeatureNamesTheRecords) {
  DatasetAttributes attributes{.compression = "none"};
  attributes.features = {{"name", {.dtype = "bytes"}}};
  EXPECT_EQ(id_feature(attributes), nullptr);
  attributes.features["id"] = {.dtype = "bytes"};
  EXPECT_EQ(*id_feature(attributes), "id");
  attributes.features["name"].is_id = true;
  const auto parsed = parse_dataset_attributes(dataset_attributes_to_json(attributes));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*id_feature(*parsed), "name");
}

TEST(Manifest, OnlyADatasetsBlocksAreComparedWithItsCompression) {
  Manifest manifest = example();
  manifest.kind = "predictions";
  manifest.attributes_json = R"({"compression":"none"})";
  EXPECT_TRUE(parse_manifest(as_bytes(serialize_manifest(manifest))));
}

TEST(Manifest, ShardsAtTheLimitsAreTaken) {
  const auto parses = [](const ManifestPart& part) {
    Manifest manifest = example();
    manifest.parts[0] = part;
    return parse_manifest(as_bytes(serialize_manifest(manifest))).has_value();
  };
  ManifestPart part = example().parts[0];
  part.blocks = {{3, 7, 48}};  // 16 bytes a record
  EXPECT_TRUE(parses(part));
  part.thousandths = {999, {3}};
  EXPECT_TRUE(parses(part));
  part.thousandths = {1000, {3}};
  EXPECT_FALSE(parses(part));
  std::vector<std::uint64_t> all(1000);
  all.front() = 1, all.back() = 2;
  part.thousandths = {0, all};
  EXPECT_TRUE(parses(part));
  all.insert(all.begin() + 1, 0);
  part.thousandths = {0, all};
  EXPECT_FALSE(parses(part)) << "there are only 1,000";
}

TEST(Manifest, SumsBelow2To62AreTaken) {
  constexpr std::uint64_t kMost = (std::uint64_t{1} << 62) - 1;
  const auto message_with = [](std::uint64_t size_bytes, std::uint64_t records, std::uint64_t stream_bytes) {
    Manifest manifest = example();
    manifest.parts.push_back({.key = "b", .size_bytes = size_bytes, .role = "shard", .records = records});
    manifest.parts.back().blocks = {{records, size_bytes, stream_bytes}};
    return error_of(serialize_manifest(manifest)).message;
  };
  // The example's parts come to 8 bytes, 3 records and 140 uncompressed bytes.
  EXPECT_EQ(message_with(kMost - 8, 1, 16), "it was parsed");
  EXPECT_THAT(message_with(kMost - 7, 1, 16), testing::HasSubstr("with b, the sizes add up to 2^62 or more"));
  EXPECT_EQ(message_with(1, 1, kMost - 140), "it was parsed");
  EXPECT_THAT(message_with(1, 1, kMost - 139),
              testing::HasSubstr("with b, the uncompressed sizes add up to 2^62 or more"));
  const auto records = [](std::uint64_t count) {
    Manifest manifest = example();
    manifest.parts.push_back({.key = "b", .size_bytes = 1, .role = "shard", .records = count});
    return error_of(serialize_manifest(manifest)).message;
  };
  EXPECT_EQ(records(kMost - 3), "it was parsed");
  EXPECT_THAT(records(kMost - 2), testing::HasSubstr("with b, the records add up to 2^62 or more"));
}

TEST(Manifest, AnErrorSaysWhatTheObjectIs) {
  const auto error = [](std::string_view text) { return parse_manifest(as_bytes(text)).error(); };
  for (const char* text : {"[]", "7", "{"}) {
    EXPECT_EQ(error(text).code, Code::kDataLoss);
    EXPECT_EQ(error(text).message, "the manifest is not a JSON object; it was truncated or overwritten");
  }
  EXPECT_EQ(error("{}").code, Code::kDataLoss);
  EXPECT_EQ(error("{}").message, "the object is not a headrace.manifest");
  EXPECT_THAT(error(R"({"format":"headrace.manifest","version":0})").message,
              testing::HasSubstr("version is 0; the first is 1"));
  EXPECT_EQ(error(R"({"format":"headrace.manifest","version":2})").message,
            "the manifest has version 2; this Headrace reads up to 1: install a newer one");
  std::string altered_text = serialize_manifest(example());
  altered_text.replace(altered_text.find("\"run\""), 5, "\"ran\"");
  EXPECT_EQ(error(altered_text).code, Code::kDataLoss);
  EXPECT_THAT(error(altered_text).message, testing::HasSubstr("the manifest's checksum does not match"));
  EXPECT_THAT(parse_dataset_attributes("{}").error().message,
              testing::HasSubstr("the dataset's attributes is not as docs/formats/manifest.md says"));
}

TEST(Manifest, TheOnlyEncoderOfAnOlderDatasetIsThatOfItsVectors) {
  DatasetAttributes attributes{.compression = "none"};
  attributes.features = {{"sentence", {"float32", std::vector<std::int64_t>{8}}},
                         {"other", {"float32", std::vector<std::int64_t>{9}}},
                         {"label", {"int64", std::vector<std::int64_t>{8}}},
                         {"list", {"float32", std::nullopt}}};
  Json older = *parse_json(dataset_attributes_to_json(attributes));
  const auto read = [&](const Json& encoder) {
    Json::Object members = older.members();
    members.erase("encoders");
    members["encoder"] = encoder;
    const auto parsed = parse_dataset_attributes(Json(std::move(members)).dump());
    EXPECT_TRUE(parsed) << parsed.error().message;
    return parsed->encoders;
  };
  using Encoders = std::map<std::string, EncoderDescription>;
  EXPECT_EQ(read({{"name", "hash:8"}, {"weights_digest", "d"}, {"dimension", 8}}),
            (Encoders{{"sentence", {"hash:8", "d", 8}}}));
  EXPECT_EQ(read({{"name", ""}, {"weights_digest", ""}, {"dimension", 0}}), Encoders{});
}

}  // namespace
}  // namespace headrace
