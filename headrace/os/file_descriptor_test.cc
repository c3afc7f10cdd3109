#include "headrace/os/file_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>

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

}  // namespace
}  // namespace headrace
