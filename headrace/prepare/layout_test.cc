#include "headrace/prepare/layout.h"

#include <gtest/gtest.h>

#include <vector>

namespace headrace {
namespace {

TEST(AclImdbLayout, TakesSplitAndLabelFromThePath) {
  const ClassifiedPath found = classify_aclimdb_path("aclImdb/train/neg/127_3.txt");
  EXPECT_EQ(found.verdict, PathVerdict::kExample);
  EXPECT_EQ(found.split, "train");
  EXPECT_EQ(found.label, "neg");
  EXPECT_EQ(classify_aclimdb_path("test/pos/0_9.txt").split, "test");
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
    EXPECT_EQ(classify_aclimdb_path(path).verdict, PathVerdict::kIgnored) << path;
    EXPECT_EQ(classify_aclimdb_path(path).reason, reason) << path;
  }
}

TEST(AclImdbLayout, RejectsPathsThatLeaveTheArchive) {
  for (const char* path : {"/etc/train/pos/1_9.txt", "../train/pos/1_9.txt", "a/../../train/pos/1_9.txt",
                           "a\xff/train/pos/1_9.txt"}) {
    EXPECT_EQ(classify_aclimdb_path(path).verdict, PathVerdict::kRejected) << path;
  }
}

}  // namespace
}  // namespace headrace
