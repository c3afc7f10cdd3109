#include "headrace/os/lock_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "headrace/base/environment.h"
#include "headrace/base/text.h"

namespace {
// Called before a file is locked; an error number other than 0 is that of the lock.
std::function<int()> before_lock;
}  // namespace

// Replaces the C library's function in the whole program. In C++ the name belongs to `struct flock`.
extern "C" int lock_file(int file, int operation) noexcept __asm__("flock");
extern "C" int lock_file(int file, int operation) noexcept {
  if (const int failure = before_lock ? before_lock() : 0; failure != 0) {
    errno = failure;
    return -1;
  }
  return static_cast<int>(syscall(SYS_flock, file, operation));
}

namespace headrace {
namespace {

class LockFile : public testing::Test {
 protected:
  void TearDown() override {
    before_lock = nullptr;
    std::filesystem::remove(path);
  }
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

TEST_F(LockFile, IsSharedByManyOrHeldByOne) {
  {
    const FileDescriptor one = open_share_locked(path, O_RDWR | O_CREAT);
    const FileDescriptor other = open_share_locked(path, O_RDWR | O_CREAT);
    EXPECT_TRUE(one.is_open() && other.is_open());
    EXPECT_FALSE(open_locked(path, O_RDWR).is_open());
    EXPECT_EQ(errno, EWOULDBLOCK);
  }
  const FileDescriptor held = open_locked(path, O_RDWR);
  ASSERT_TRUE(held.is_open());
  EXPECT_FALSE(open_share_locked(path, O_RDWR).is_open());
  EXPECT_EQ(errno, EWOULDBLOCK);
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

TEST_F(LockFile, ThatIsRemovedOrReplacedBeforeItIsLockedIsNotHeld) {
  for (const bool is_replaced : {false, true}) {
    std::ofstream(path) << "x";
    before_lock = [&] {
      EXPECT_EQ(::unlink(path.c_str()), 0);
      if (is_replaced) std::ofstream(path) << "y";
      errno = 0;
      return 0;
    };
    EXPECT_FALSE(open_locked(path, O_RDWR).is_open());
    EXPECT_EQ(errno, EWOULDBLOCK);
  }
}

TEST_F(LockFile, ThatCannotBeLockedCountsAsHeld) {
  before_lock = [] { return ENOLCK; };
  EXPECT_FALSE(open_locked(path, O_RDWR | O_CREAT).is_open());
  EXPECT_EQ(errno, EWOULDBLOCK);
}

TEST_F(LockFile, IsForItsUserAloneAndNotForOtherPrograms) {
  const FileDescriptor held = open_locked(path, O_RDWR | O_CREAT);
  ASSERT_TRUE(held.is_open());
  struct stat status {};
  ASSERT_EQ(::fstat(held.get(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_EQ(::fcntl(held.get(), F_GETFD), FD_CLOEXEC);
}

}  // namespace
}  // namespace headrace
