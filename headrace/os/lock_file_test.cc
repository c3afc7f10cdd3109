#include "headrace/os/lock_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "headrace/base/environment.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

class LockFile : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path); }
  const std::string path =
      (std::filesystem::temp_directory_path() / concat("lock-", hex64(random_name_bits()))).string();
};

TEST_F(LockFile, IsHeldByOneAtATime) {
  {
    const FileDescriptor held = open_locked(path, O_RDWR | O_CREAT);
    ASSERT_TRUE(held.is_open());
    EXPECT_FALSE(open_locked(path, O_RDWR | O_CREAT).is_open());
    EXPECT_EQ(errno, EWOULDBLOCK);
  }
  EXPECT_TRUE(open_locked(path, O_RDWR).is_open());
}

TEST_F(LockFile, ThatWasRemovedIsHeldByNobody) {
  const FileDescriptor held = open_locked(path, O_RDWR | O_CREAT);
  ASSERT_EQ(::unlink(path.c_str()), 0);
  EXPECT_TRUE(open_locked(path, O_RDWR | O_CREAT).is_open()) << "it is another file";
}

TEST_F(LockFile, IsNoLink) {
  ASSERT_EQ(::symlink("/etc/passwd", path.c_str()), 0);
  EXPECT_FALSE(open_locked(path, O_RDWR | O_CREAT).is_open());
  EXPECT_EQ(errno, ELOOP);
}

}  // namespace
}  // namespace headrace
