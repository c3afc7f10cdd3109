#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/codec/tar_builder_test.h"
#include "headrace/prepare/source/source_test.h"
#include "headrace/record/manifest.h"

namespace headrace {
namespace {

class GuessInputFormat : public SourceTest {
 protected:
  std::string guess(const std::string& key) {
    const auto format = guess_input_format(at(key));
    if (format) return std::string(input_format_name(*format));
    EXPECT_TRUE(format.error().code == Code::kInvalidArgument || format.error().code == Code::kNotFound);
    return format.error().message;
  }
  std::string guess_folder(const std::vector<std::string>& names) {
    const std::string folder = concat("folder-", ++folders_);
    for (const std::string& name : names) put(concat(folder, '/', name), "x");
    return guess(folder);
  }
  std::string guess_tar(const std::vector<std::string>& names) {
    TarBuilder tar;
    for (const std::string& name : names) tar.file(name, "x");
    put("guessed.tar", tar.finish());
    return guess("guessed.tar");
  }
  int folders_ = 0;
};

TEST_F(GuessInputFormat, EndingsTellTables) {
  for (const auto& [name, format] :
       std::vector<std::pair<std::string, std::string>>{{"a.csv", "csv"},
                                                        {"a.csv.gz", "csv"},
                                                        {"a.tsv", "tsv"},
                                                        {"a.jsonl", "jsonl"},
                                                        {"a.ndjson.gz", "jsonl"},
                                                        {"a.tfrecord", "tfrecord"},
                                                        {"a.tfrecord-00000-of-00002", "tfrecord"}}) {
    EXPECT_EQ(guess_folder({name}), format) << name;
    EXPECT_EQ(guess(concat("folder-", folders_, '/', name)), format) << name;
    EXPECT_EQ(guess(concat("folder-", folders_, "/a.*")), format) << name;
  }
  EXPECT_EQ(guess_folder({"a.tar", "b.tar.gz"}), "webdataset");
}

TEST_F(GuessInputFormat, FoldersTellLayouts) {
  EXPECT_EQ(guess_folder({"train/cats/cat.0.jpg", "validation/dogs/dog.1.jpg", "README.txt"}),
            "image-folder");
  EXPECT_EQ(guess_folder({"PetImages/Cat/0.jpg", "PetImages/Cat/Thumbs.db"}), "image-folder");
  EXPECT_EQ(guess_folder({"train/neg/0_3.txt", "train/unsup/0_0.txt", "imdb.vocab"}), "aclimdb");
  EXPECT_EQ(guess_folder({"train/sport/0.txt", "train/news/1.txt"}), "text-folder");
  EXPECT_EQ(guess_folder({concat(kManifestPrefix, "00000001"), "data/train-0.csv"}), "tfrecord");
}

TEST_F(GuessInputFormat, FilesThatNeedNoLabelsMayLieAnywhere) {
  const auto guess_unlabelled = [&](const std::vector<std::string>& names) {
    guess_folder(names);
    const auto format = guess_input_format(at(concat("folder-", folders_)), false);
    return format ? std::string(input_format_name(*format)) : format.error().message;
  };
  EXPECT_EQ(guess_unlabelled({"0.jpg", "more/1.png", "README.txt"}), "image-files");
  EXPECT_EQ(guess_unlabelled({"train/cats/0.jpg"}), "image-files");
  EXPECT_EQ(guess_unlabelled({"0.txt", "more/1.txt"}), "text-files");
  EXPECT_EQ(guess_unlabelled({"train/neg/0_3.txt", "imdb.vocab"}), "aclimdb");
  EXPECT_EQ(guess_unlabelled({"a.csv"}), "csv");
  EXPECT_THAT(guess_unlabelled({"0.jpg", "a.csv"}),
              testing::HasSubstr("--layout image-files or --layout csv"));
  EXPECT_THAT(guess_folder({"0.jpg"}), testing::HasSubstr("without labels with --layout image-files"));
}

TEST_F(GuessInputFormat, TheFilesOfAnArchiveTellWhatItIs) {
  EXPECT_EQ(guess_tar({"train/cats/cat.0.jpg", "train/cats/cat.1.jpg"}), "image-folder");
  EXPECT_EQ(guess_tar({"aclImdb/train/unsup/0_0.txt", "aclImdb/test/pos/0_9.txt"}), "aclimdb");
  EXPECT_EQ(guess_tar({"0.jpg", "0.cls", "1.jpg", "1.cls"}), "webdataset");
  EXPECT_EQ(*guess_input_format(at("guessed.tar"), false), InputFormat::kWebDataset);
}

TEST_F(GuessInputFormat, WhatNamesDoNotTellIsRefusedWithWhatCanBeNamed) {
  EXPECT_EQ(guess_folder({"a.csv", "train/cats/1.jpg"}),
            "cannot tell the format of memory://test/folder-1 from its names: they suggest image-folder "
            "(train/cats/1.jpg) and csv (a.csv); choose one with --layout image-folder or --layout csv");
  EXPECT_EQ(
      guess_folder({"a.orc"}),
      "cannot tell the format of memory://test/folder-2 from its names: no ending or folder suggests "
      "one; name it with --layout: aclimdb, text-folder, image-folder, text-files, image-files, csv, tsv, "
      "jsonl, webdataset, tfrecord, request-log");
  EXPECT_NE(guess("folder-2/a.orc").find("no ending or folder suggests one"), std::string::npos);
  EXPECT_NE(guess_tar({"a/0.jpg", "a/0.cls"}).find("image-folder (a/0.jpg) and webdataset (a/0.cls)"),
            std::string::npos);
}

TEST_F(GuessInputFormat, TablesOfArrowAreReadByPython) {
  EXPECT_NE(guess_folder({"a.parquet"}).find("a.parquet in memory://test/folder-1 is an Arrow table"),
            std::string::npos);
  for (const char* key : {"folder-1/a.parquet", "folder-1/*.parquet"})
    EXPECT_NE(guess(key).find("in Python, headrace.prepare(…)"), std::string::npos) << guess(key);
  EXPECT_EQ(guess_folder({"a.parquet", "b.csv"}), "csv");
}

TEST_F(GuessInputFormat, WhoeverHasAModelIsSentToItsPredictions) {
  const auto refusal = [&](const std::string& key) {
    put(key, std::string_view("PK"));
    return guess_input_format(at(key), false).error().message;
  };
  EXPECT_THAT(refusal("a.parquet"), testing::HasSubstr("headrace.load(…).predict(pandas.read_parquet(…))"));
  EXPECT_THAT(refusal("a.arrow"), testing::HasSubstr("headrace.load(…).predict(pandas.read_feather(…))"));
  EXPECT_THAT(refusal("a.xlsx"), testing::HasSubstr("to headrace.load(…).predict"));
}

TEST_F(GuessInputFormat, AWorkbookIsRefusedWithWhatReadsIt) {
  put("a.XLSX", std::string_view("PK"));
  EXPECT_NE(guess("a.XLSX").find("is a spreadsheet workbook"), std::string::npos) << guess("a.XLSX");
}

TEST_F(GuessInputFormat, OnlyTheFirstThousandNamesAreLookedAt) {
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i)
    names.push_back(concat("a/", zero_padded(static_cast<std::uint64_t>(i), 4), ".jpg"));
  names.push_back("z.csv");
  EXPECT_EQ(guess_folder(names), "image-folder");
}

TEST_F(GuessInputFormat, WhatIsNotThereIsNotFound) {
  for (const char* key : {"nothing", "nothing/*.csv", ""}) {
    const auto format = guess_input_format(at(key));
    ASSERT_FALSE(format);
    EXPECT_EQ(format.error().code, Code::kNotFound) << key;
  }
}

}  // namespace
}  // namespace headrace
