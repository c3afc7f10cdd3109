#include "headrace/prepare/write/foreign_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/store/registry.h"

namespace headrace {
namespace {

TEST(ForeignShards, AreNamedLikeShardsAndNotAsPrepareNamesThem) {
  StoreRegistry stores{Environment{}};
  const Location output = *stores.open("memory://foreign/out");
  for (const char* key : {"train-00000-of-00004.tfrecord.gz", "data.tfrecord-00000-of-00001", "notes.txt",
                          "train-1a2b3c4d-00000-of-00001.tfrecord.gz", "old/train.tfrecord"})
    ASSERT_TRUE(write_text(*output.store, output.at(key).key, "x"));
  const auto names = find_foreign_shards(output);
  ASSERT_TRUE(names) << names.error().message;
  EXPECT_THAT(*names,
              testing::ElementsAre("data.tfrecord-00000-of-00001", "train-00000-of-00004.tfrecord.gz"));
}

}  // namespace
}  // namespace headrace
