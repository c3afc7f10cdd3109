#include "headrace/os/file_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace {
// The next `interrupted_writes` writes are interrupted. If `bytes_at_once` is not 0, later writes write only
// that many bytes.
int interrupted_writes = 0;
std::size_t bytes_at_once = 0;
}  // namespace

// Replaces the C library's function in the whole program.
extern "C" ssize_t write(int file, const void* from, std::size_t size) {
  if (interrupted_writes > 0) {
    --interrupted_writes;
    errno = EINTR;
    return -1;
  }
  return syscall(SYS_write, file, from, bytes_at_once == 0 ? size : std::min(size, bytes_at_once));
}

namespace headrace {
namespace {

bool is_open(int number) { return ::fcntl(number, F_GETFD) >= 0; }

TEST(FileDescriptor, ClosesWhatItOwnsAndNothingElse) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  {
    FileDescriptor first(ends[0]);
    FileDescriptor second(ends[1]);
    const FileDescriptor moved = std::move(first);
    EXPECT_EQ(moved.get(), ends[0]);
    EXPECT_FALSE(first.is_open());
    EXPECT_EQ(second.release(), ends[1]);
  }
  EXPECT_FALSE(is_open(ends[0]));
  ASSERT_TRUE(is_open(ends[1]));
  FileDescriptor last(ends[1]);
  EXPECT_TRUE(last.close());
  EXPECT_TRUE(last.close()) << "nothing is left to close";
}

TEST(WriteAll, SaysWhyItFailed) {
  const FileDescriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  EXPECT_FALSE(write_all(full, as_bytes("text")));
  EXPECT_EQ(errno, ENOSPC);
  const FileDescriptor null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  EXPECT_TRUE(write_all(null, as_bytes("text")));
}

TEST(WriteAll, GoesOnAfterAnInterruptionAndAfterAPart) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const FileDescriptor from(ends[0]), to(ends[1]);
  interrupted_writes = 2;
  bytes_at_once = 3;
  const bool is_written = write_all(to, as_bytes("12345678"));
  bytes_at_once = 0;
  EXPECT_TRUE(is_written);
  EXPECT_EQ(interrupted_writes, 0);
  std::array<char, 16> got{};
  EXPECT_EQ(::read(from.get(), got.data(), got.size()), 8);
  EXPECT_STREQ(got.data(), "12345678");
}

TEST(FileDescriptor, SaysWhetherItCouldBeClosed) {
  FileDescriptor wrong(1 << 20);
  EXPECT_FALSE(wrong.close());
  EXPECT_EQ(errno, EBADF);
  EXPECT_FALSE(wrong.is_open());
}

}  // namespace
}  // namespace headrace
