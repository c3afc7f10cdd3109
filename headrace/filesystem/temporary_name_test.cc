#include "headrace/filesystem/temporary_name.h"

#include <gtest/gtest.h>

#include <string>

namespace headrace {
namespace {

TEST(TemporaryName, LeadsToTheNameThatTensorFlowGivesInTheEnd) {
  const std::string data = "a/ckpt-1.data-00000-of-00001";
  for (const char* name : {"a/ckpt-1.part-00000-of-00001.data-00000-of-00001.tempstate17",
                           "a/ckpt-1.part-00000-of-00001.data-00000-of-00001",
                           "a/ckpt-1_temp/part-00000-of-00001.data-00000-of-00001",
                           "a/ckpt-1_temp_0123abcd/part-00000-of-00001.data-00000-of-00001.tempstate9"}) {
    EXPECT_EQ(final_name(name), data) << name;
  }
  EXPECT_EQ(final_name("a/ckpt-1.index.tempstate123"), "a/ckpt-1.index");
  EXPECT_EQ(final_name("a/checkpoint.tmp0123456789abcdef0123456789abcdef"), "a/checkpoint");
  const std::string part_index = "a/ckpt-1.part-00000-of-00001.index";
  EXPECT_EQ(final_name(part_index + ".tempstate5"), part_index);
  EXPECT_EQ(final_name(part_index), part_index);
}

TEST(TemporaryName, OtherNamesAreWhatTheyAre) {
  for (const char* name :
       {"", "a/ckpt-1.data-00000-of-00001", "a/ckpt-1.index", "a/checkpoint", "a/b.tempstate",
        "a/b.tempstate1x", "a/b.tmp", "a/b.tmp0123", "a/b.tmp0123456789ABCDEF0123456789abcdef",
        "a/part-00000-of-00001.data-00000-of-00001", "a_temp/b/part-00000-of-00001.index",
        "a/ckpt-1.part-00000-of-00002.data-00000-of-00001", "train_temperature/part-00000-of-00001.index",
        "a/ckpt-1.part-00001-of-00002.index"}) {
    EXPECT_EQ(final_name(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace headrace
