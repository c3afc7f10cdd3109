#include "headrace/prepare/source/input.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/prepare/source/source_test.h"
#include "headrace/prepare/table/rows_test.h"
#include "headrace/prepare/table/staged_rows.h"
#include "headrace/record/manifest.h"
#include "headrace/store/numbered.h"

namespace headrace {
namespace {

constexpr InputFormat kAll[] = {InputFormat::kAclImdb,    InputFormat::kTextFolder, InputFormat::kImageFolder,
                                InputFormat::kCsv,        InputFormat::kTsv,        InputFormat::kJsonLines,
                                InputFormat::kWebDataset, InputFormat::kTfrecord};

class FindInput : public SourceTest {
 protected:
  // The files of all slices, those of one in brackets.
  std::string files(const std::string& key, InputFormat format, const SliceLimits& limits = {}) {
    const auto input = find(key, format, limits);
    if (!input) return input.error().message;
    std::string text;
    for (const Slice& slice : input->slices) {
      text += '[';
      for (const InputFile& file : slice.files) text += concat(file.url.substr(file.url.rfind('/') + 1), ' ');
      text.back() = ']';
    }
    return text;
  }
  Code code(const std::string& key, InputFormat format) {
    const auto input = find(key, format);
    return input ? Code::kUnknown : input.error().code;
  }
};

TEST(InputFormats, EveryNameIsReadBack) {
  for (const InputFormat format : kAll) EXPECT_EQ(*parse_input_format(input_format_name(format)), format);
}

TEST(InputFormats, AnotherNameIsRefusedWithTheNamesThatThereAre) {
  const auto format = parse_input_format("imagefolder");
  ASSERT_FALSE(format);
  EXPECT_EQ(format.error().code, Code::kInvalidArgument);
  EXPECT_EQ(format.error().message,
            "no input format \"imagefolder\" (did you mean image-folder?); there are aclimdb, text-folder, "
            "image-folder, text-files, image-files, csv, tsv, jsonl, webdataset, tfrecord, request-log");
}

TEST_F(FindInput, ObjectsOfAFolderGoByTheirEndings) {
  for (const char* name : {"a.csv", "b.CSV.gz", "c.tsv", "d.tsv.gz", "e.jsonl", "f.ndjson.gz", "g.tar",
                           "h.tgz", "i.tar.gz", "j.tfrecord", "k.tfrecord.gz", "l.tfrecord-00000-of-00010",
                           "m.csv-00000-of-00010", "n.txt", "._o.csv", "_SUCCESS", "csv"})
    put(concat("in/", name), "x");
  EXPECT_EQ(files("in", InputFormat::kCsv), "[a.csv b.CSV.gz]");
  EXPECT_EQ(files("in", InputFormat::kTsv), "[c.tsv d.tsv.gz]");
  EXPECT_EQ(files("in", InputFormat::kJsonLines), "[e.jsonl f.ndjson.gz]");
  EXPECT_EQ(files("in", InputFormat::kWebDataset), "[g.tar h.tgz i.tar.gz]");
  EXPECT_EQ(files("in", InputFormat::kTfrecord), "[j.tfrecord k.tfrecord.gz l.tfrecord-00000-of-00010]");
}

TEST_F(FindInput, AnObjectThatIsNamedAndWhatAPatternSaysNeedNoEnding) {
  put("in/part-00000", "x");
  put("in/part-00001", "y");
  put("in/._part-00002", "y");
  put("in/_SUCCESS", "");
  EXPECT_EQ(files("in/part-00000", InputFormat::kCsv), "[part-00000]");
  EXPECT_EQ(files("in/*part-*", InputFormat::kCsv), "[part-00000 part-00001]");
}

TEST_F(FindInput, WhatLooksLikeAPatternMayBeAName) {
  put("in/[1].csv", "x");
  put("in/1.csv", "y");
  EXPECT_EQ(files("in/[1].csv", InputFormat::kCsv), "[[1].csv]");
  put("a*/1.csv", "x");
  put("ab/2.csv", "x");
  EXPECT_EQ(files("a*", InputFormat::kCsv), "[1.csv]");
}

TEST_F(FindInput, FilesShareASliceUpToItsSize) {
  for (const auto& [name, bytes] : std::vector<std::pair<std::string, std::size_t>>{
           {"a", 40}, {"b", 60}, {"c", 1}, {"d", 500}, {"e", 0}, {"f", 100}})
    put(concat("in/", name, ".csv"), std::string(bytes, 'x'));
  EXPECT_EQ(files("in", InputFormat::kCsv, {.size_bytes = 100}), "[a.csv b.csv][c.csv][d.csv][e.csv f.csv]");
  const auto input = find("in", InputFormat::kCsv, {.size_bytes = 100});
  EXPECT_EQ(input->objects, 6U);
  EXPECT_EQ(input->size_bytes, 701U);
  EXPECT_EQ(input->slices[0].objects, 2U);
  EXPECT_EQ(input->slices[0].size_bytes, 100U);
  EXPECT_FALSE(input->slices[0].is_range_of_folder());
}

TEST_F(FindInput, TheVersionTellsWhetherItIsTheSame) {
  put("in/a.csv", "x");
  put("in/b.csv", "y");
  const std::string object = find("in/a.csv", InputFormat::kCsv)->version;
  const std::string folder = find("in", InputFormat::kCsv)->version;
  EXPECT_EQ(object, find("in/a.csv", InputFormat::kCsv)->version);
  EXPECT_EQ(object, find("in", InputFormat::kCsv)->slices[0].files[0].version);
  EXPECT_EQ(folder, find("in", InputFormat::kCsv)->version);
  put("in/notes.txt", "not read");
  EXPECT_EQ(folder, find("in", InputFormat::kCsv)->version);
  put("in/a.csv", "z");
  EXPECT_NE(object, find("in/a.csv", InputFormat::kCsv)->version);
  EXPECT_NE(folder, find("in", InputFormat::kCsv)->version);
}

TEST_F(FindInput, StagedRowsAreTheSameWhoeverWroteThem) {
  const std::string folder = concat("out/", kStagedFolder);
  const std::string part = concat(folder, "/rows-000000000000-0123456789abcdef0123456789abcdef.tfrecord");
  put(part, "x");
  const auto first = find(folder, InputFormat::kTfrecord);
  put(part, "y");
  const auto again = find(folder, InputFormat::kTfrecord);
  EXPECT_EQ(again->version, first->version);
  EXPECT_NE(again->slices[0].files[0].version, first->slices[0].files[0].version);
  put(concat(folder, "/rows-000000000001-0123456789abcdef0123456789abcdef.tfrecord"), "z");
  EXPECT_NE(find(folder, InputFormat::kTfrecord)->version, first->version);
}

TEST_F(FindInput, StagedRowsAreOfTheDataSetThatTheyLieBelow) {
  const std::string part = "rows-000000000000-0123456789abcdef0123456789abcdef.tfrecord";
  for (const std::string& name : {part, concat("stored-", part)}) {
    const std::string key = concat("out/", kStagedFolder, "/", name);
    put(key, "x");
    const auto input = find(key, InputFormat::kTfrecord);
    EXPECT_TRUE(check_staged_rows(*input, at("out")));
    const Status elsewhere = check_staged_rows(*input, at("other"));
    ASSERT_EQ(static_cast<bool>(elsewhere), name != part);
    if (!elsewhere) {
      EXPECT_EQ(elsewhere.error().code, Code::kPermissionDenied);
    }
  }
}

TEST_F(FindInput, WhatIsNotThereIsNotFound) {
  put("in/a.csv", "x");
  for (const InputFormat format : kAll) {
    EXPECT_EQ(code("nothing", format), Code::kNotFound) << input_format_name(format);
    EXPECT_EQ(code("i", format), Code::kNotFound) << "no folder, but the front of one's name";
    EXPECT_EQ(code("in/*.nothing", format), Code::kNotFound);
  }
  EXPECT_EQ(find("nothing", InputFormat::kCsv).error().message,
            "there is no object and no folder at memory://test/nothing; check the URL with headrace ls");
}

TEST_F(FindInput, AFolderWithNothingOfTheFormatIsRefusedWithWhatToDo) {
  put("in/notes.txt", "x");
  for (const InputFormat format : kAll) {
    const auto input = find("in", format);
    ASSERT_FALSE(input) << input_format_name(format);
    EXPECT_EQ(input.error().code, Code::kInvalidArgument) << input_format_name(format);
    const std::string& message = input.error().message;
    EXPECT_NE(message.find("memory://test/in"), std::string::npos) << message;
    EXPECT_NE(message.find("the first object is notes.txt"), std::string::npos) << message;
    EXPECT_NE(message.find("another format: aclimdb"), std::string::npos) << message;
  }
}

TEST_F(FindInput, AStoresRootIsAFolder) {
  put("train/cats/0.jpg", "x");
  put("a.csv", "x");
  EXPECT_EQ(find("", InputFormat::kImageFolder)->objects, 2U);
  EXPECT_EQ(files("", InputFormat::kCsv), "[a.csv]");
}

void publish(Store& store, const std::string& folder, const std::vector<ManifestPart>& parts) {
  Manifest manifest{.kind = "dataset", .created_by = "run", .plan = "plan", .parts = parts};
  DatasetAttributes attributes{.compression = "none"};
  manifest.attributes_json = dataset_attributes_to_json(attributes);
  const std::string prefix = join_key(folder, kManifestPrefix);
  const auto written = create_numbered(store, prefix, 1, as_bytes(serialize_manifest(manifest)));
  ASSERT_TRUE(written);
}

TEST_F(FindInput, OfAPublishedDataSetTheShardsOfItsManifestAreTaken) {
  const std::string shard(116, 's');
  put("set/data/train-0", shard);
  put("set/data/left-over.tfrecord", shard);
  ManifestPart part{
      .key = "data/train-0", .size_bytes = 116, .role = "shard", .split = "train", .records = 1};
  part.index = "data/train-0.index";
  part.blocks = {{.record_count = 1, .stored_bytes = 116, .stream_bytes = 116}};
  publish(store(), "set", {part});
  EXPECT_EQ(files("set", InputFormat::kTfrecord), "[train-0]");
  put("set/data/train-0", "shorter");
  const auto input = find("set", InputFormat::kTfrecord);
  ASSERT_FALSE(input);
  EXPECT_EQ(input.error().code, Code::kFailedPrecondition);
  EXPECT_NE(input.error().message.find("memory://test/set/data/train-0"), std::string::npos)
      << input.error().message;
}

}  // namespace
}  // namespace headrace
