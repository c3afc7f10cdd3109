#include "headrace/log/spool.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "headrace/base/text.h"

namespace headrace {
namespace {

class Spooled : public testing::Test {
 protected:
  std::string read(const Spool& spool, const Spool::File& file) {
    const auto data = spool.read(file);
    return data ? to_string(*data) : data.error().message;
  }
  std::size_t folders() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(scratch.path()), {}));
  }

  StagedFolder scratch = *StagedFolder::create(testing::TempDir() + "headrace-spool-test");
};

TEST_F(Spooled, FilesHoldWhatTheyWereGiven) {
  Spool spool({.root = scratch.path()});
  EXPECT_EQ(folders(), 0U) << "nothing is made before something is spooled";
  const auto first = spool.add(as_bytes("one")), second = spool.add(as_bytes("two, longer"));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->size_bytes, 3U);
  EXPECT_EQ(second->size_bytes, 11U);
  EXPECT_NE(first->number, second->number);
  EXPECT_EQ(read(spool, *second), "two, longer");
  EXPECT_EQ(read(spool, *first), "one");
}

TEST_F(Spooled, RemovingMakesRoom) {
  Spool spool({.root = scratch.path(), .most_bytes = 8});
  const auto first = spool.add(as_bytes("12345"));
  ASSERT_TRUE(first);
  const auto none = spool.add(as_bytes("6789"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kResourceExhausted);
  EXPECT_EQ(none.error().message, "a spool of 8 B has no room for another 4 B");
  EXPECT_TRUE(spool.add(as_bytes("678"))) << "it may be full to the last byte";
  spool.remove(*first);
  EXPECT_TRUE(spool.add(as_bytes("54321")));
  EXPECT_FALSE(spool.add(as_bytes("6")));
}

TEST_F(Spooled, WithoutAFolderThereIsNoRoom) {
  Spool spool({.root = "", .most_bytes = 8});
  const auto none = spool.add(as_bytes("1"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kResourceExhausted);
  EXPECT_EQ(none.error().message, "a spool of 0 B has no room for another 1 B");
}

TEST_F(Spooled, AFileThatIsShorterThanItWasIsLost) {
  Spool spool({.root = scratch.path()});
  const auto file = spool.add(as_bytes("12345"));
  ASSERT_TRUE(file);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch.path())) {
    if (entry.is_regular_file() && entry.file_size() == 5) std::filesystem::resize_file(entry.path(), 4);
  }
  const auto data = spool.read(*file);
  ASSERT_FALSE(data);
  EXPECT_EQ(data.error().code, Code::kDataLoss);
  EXPECT_TRUE(data.error().message.ends_with(" was altered")) << data.error().message;
}

TEST_F(Spooled, FilesGoWithTheSpool) {
  {
    Spool spool({.root = scratch.path()});
    ASSERT_TRUE(spool.add(as_bytes("1")));
    EXPECT_GE(folders(), 1U);
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch.path()))
    EXPECT_FALSE(entry.is_regular_file() && entry.file_size() == 1) << entry.path();
}

}  // namespace
}  // namespace headrace
