#include "headrace/prepare/archive/layout.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

namespace headrace {
namespace {

TEST(AclImdbLayout, TakesSplitAndLabelFromThePath) {
  const ClassifiedPath found = classify_path(Layout::kAclImdb, "aclImdb/train/neg/127_3.txt");
  EXPECT_EQ(found.verdict, PathVerdict::kExample);
  EXPECT_EQ(found.split, "train");
  EXPECT_EQ(found.label, "neg");
  EXPECT_EQ(classify_path(Layout::kAclImdb, "test/pos/0_9.txt").split, "test");
}

TEST(AclImdbLayout, IgnoresWhatElseTheArchiveShipsAndSaysWhy) {
  const std::vector<std::pair<const char*, const char*>> others = {
      {"aclImdb/train/unsup/0_0.txt", "unsupervised text (unsup)"},
      {"aclImdb/imdb.vocab", "vocabulary"},
      {"aclImdb/imdbEr.txt", "vocabulary"},
      {"aclImdb/train/labeledBow.feat", "bag-of-words features"},
      {"aclImdb/train/urls_pos.txt", "list of URLs"},
      {"aclImdb/README", "README"},
      {"aclImdb/train/pos/._0_9.txt", "left by a file system"},
      {"aclImdb/train/pos/0_9.html", "outside of <split>/<label>/*.txt"},
      {"aclImdb/dev/pos/0_9.txt", "outside of <split>/<label>/*.txt"}};
  for (const auto& [path, reason] : others) {
    EXPECT_EQ(classify_path(Layout::kAclImdb, path).verdict, PathVerdict::kIgnored) << path;
    EXPECT_EQ(classify_path(Layout::kAclImdb, path).reason, reason) << path;
  }
}

TEST(AclImdbLayout, RejectsPathsThatLeaveTheArchive) {
  for (const char* path : {"/etc/train/pos/1_9.txt", "../train/pos/1_9.txt", "a/../../train/pos/1_9.txt",
                           "a\xff/train/pos/1_9.txt"}) {
    EXPECT_EQ(classify_path(Layout::kAclImdb, path).verdict, PathVerdict::kRejected) << path;
  }
}

struct Expected {
  const char* path;
  const char* split;
  const char* label;
};

void expect_examples(Layout layout, const std::vector<Expected>& expected) {
  for (const auto& [path, split, label] : expected) {
    const ClassifiedPath found = classify_path(layout, path);
    EXPECT_EQ(found.verdict, PathVerdict::kExample) << path << ": " << found.reason;
    EXPECT_EQ(found.split, split) << path;
    EXPECT_EQ(found.label, label) << path;
  }
}

TEST(ImageFolderLayout, TheFolderIsTheLabelAndASplitsFolderAboveItTheSplit) {
  expect_examples(Layout::kImageFolder, {{"train/cats/cat.0.jpg", "train", "cats"},
                                         {"validation/dogs/dog.1.jpg", "validation", "dogs"},
                                         {"dogs-vs-cats/train/cats/cat.0.jpg", "train", "cats"},
                                         {"PetImages/Cat/0.jpg", "", "Cat"},
                                         {"Cat/0.jpg", "", "Cat"},
                                         {"training_set/training_set/cats/cat.1.jpg", "training_set", "cats"},
                                         {"train2017/cats/1.JPEG", "train2017", "cats"},
                                         {"VAL/n01440764/1.PNG", "VAL", "n01440764"},
                                         {"fold_3/a b/x.y.Jpg", "fold_3", "a b"},
                                         {"train/test/1.png", "train", "test"},
                                         {"test_tube/1.png", "", "test_tube"},
                                         {"DISCARD/cats/1.png", "DISCARD", "cats"}});
}

TEST(TextFolderLayout, TheFolderIsTheLabelAndASplitsFolderAboveItTheSplit) {
  expect_examples(Layout::kTextFolder, {{"aclImdb/train/neg/127_3.txt", "train", "neg"},
                                        {"test/pos/0_9.TXT", "test", "pos"},
                                        {"20_newsgroup/alt.atheism/1.txt", "", "alt.atheism"},
                                        {"sport/1.txt", "", "sport"}});
}

TEST(ImageFolderLayout, WhatIsNoExampleHasAReason) {
  using enum PathVerdict;
  const std::vector<std::tuple<std::string, PathVerdict, std::string>> others = {
      {"0.jpg", kIgnored, "outside of a label's folder"},
      {"0.gif", kIgnored, "outside of a label's folder"},
      {"PetImages/Cat/Thumbs.db", kIgnored, "left by a file system"},
      {"__MACOSX/train/cats/0.jpg", kIgnored, "left by a file system"},
      {"train/cats/._0.jpg", kIgnored, "left by a file system"},
      {"train/.ipynb_checkpoints/0.jpg", kIgnored, "left by a file system"},
      {"train/cats/.DS_Store", kIgnored, "left by a file system"},
      {"train/cats/0.txt", kIgnored, "no .jpg, .jpeg or .png file"},
      {"train/cats/jpg", kIgnored, "no .jpg, .jpeg or .png file"},
      {"train/cats/", kIgnored, "no .jpg, .jpeg or .png file"},
      {"", kIgnored, "no .jpg, .jpeg or .png file"},
      {"train/cats/0.GIF", kRejected, "image format that is not read"},
      {"Cat/0.webp", kRejected, "image format that is not read"},
      {"train/cat.0.jpg", kRejected, "in the folder of a split, but of no label"},
      {"test1/1.jpg", kRejected, "in the folder of a split, but of no label"},
      {"cats/train/1.jpg", kRejected, "in the folder of a split, but of no label"},
      {"train/cats/persian/1.jpg", kRejected, "deeper than <split>/<label>/"},
      {"a//0.jpg", kRejected, "path has an empty segment, or one \".\""},
      {"a/./0.jpg", kRejected, "path has an empty segment, or one \".\""},
      {"/train/cats/0.jpg", kRejected, "path leaves the archive"},
      {"train/../cats/0.jpg", kRejected, "path leaves the archive"},
      {"train/c\xff/0.jpg", kRejected, "path is not UTF-8"},
      {std::string("train/c\0/0.jpg", 15), kRejected, "path is not UTF-8"}};
  for (const auto& [path, verdict, reason] : others) {
    const ClassifiedPath found = classify_path(Layout::kImageFolder, path);
    EXPECT_EQ(found.verdict, verdict) << path;
    EXPECT_EQ(found.reason, reason) << path;
  }
}

TEST(FilesLayouts, TakeTheirFilesWhereverTheyLieWithoutLabels) {
  for (const std::string path : {"a.jpg", "train/cats/a.JPEG", "train/a.png", "a/b/c/d.jpg"}) {
    const ClassifiedPath image = classify_path(Layout::kImageFiles, path);
    EXPECT_EQ(image.verdict, PathVerdict::kExample) << path;
    EXPECT_EQ(image.label + image.split, "") << path;
    EXPECT_EQ(classify_path(Layout::kTextFiles, path).verdict, PathVerdict::kIgnored) << path;
  }
  EXPECT_EQ(classify_path(Layout::kTextFiles, "a.txt").verdict, PathVerdict::kExample);
  EXPECT_EQ(classify_path(Layout::kImageFiles, "a.gif").verdict, PathVerdict::kRejected);
  EXPECT_EQ(classify_path(Layout::kImageFiles, "../a.jpg").verdict, PathVerdict::kRejected);
  EXPECT_EQ(classify_path(Layout::kImageFiles, ".cache/a.jpg").verdict, PathVerdict::kIgnored);
  EXPECT_TRUE(holds_images(Layout::kImageFiles));
  EXPECT_FALSE(holds_images(Layout::kTextFiles));
}

TEST(TextFolderLayout, OtherFilesAreIgnored) {
  for (const char* path : {"aclImdb/train/labeledBow.feat", "train/pos/0.jpg", "README"})
    EXPECT_EQ(classify_path(Layout::kTextFolder, path).reason, "no .txt file") << path;
}

}  // namespace
}  // namespace headrace
