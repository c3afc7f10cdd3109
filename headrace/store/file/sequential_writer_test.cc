#include "headrace/store/file/sequential_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <random>
#include <string>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::size_t kCached = 1 << 20, kBuffer = 4 << 20;

FileDescriptor unnamed_file(const std::string& folder) {
  return FileDescriptor(::open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
}

Bytes random_bytes(std::size_t size) {
  std::mt19937_64 random(size);
  Bytes bytes;
  while (bytes.size() < size) append_little_endian(bytes, random());
  bytes.resize(size);
  return bytes;
}

Bytes content_of(const FileDescriptor& file) {
  struct stat status {};
  EXPECT_EQ(::fstat(file.get(), &status), 0);
  Bytes bytes(static_cast<std::size_t>(status.st_size));
  EXPECT_EQ(::pread(file.get(), bytes.data(), bytes.size(), 0), status.st_size);
  return bytes;
}

bool append_in_pieces(SequentialWriter& writer, BytesView data, std::size_t most) {
  std::mt19937_64 random(most);
  while (!data.empty()) {
    const std::size_t count = std::min<std::size_t>(data.size(), 1 + random() % most);
    if (!writer.append(data.first(count))) return false;
    data = data.subspan(count);
  }
  return true;
}

// A disk, and memory, whose file system may know no direct writes.
class SequentialWriterTest : public testing::TestWithParam<const char*> {};

TEST_P(SequentialWriterTest, WritesWhatIsAppendedWhateverTheSizes) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kCached - 1, kCached, kCached + 1,
                                 kCached + 4096, kCached + kBuffer, kCached + 2 * kBuffer + 4097}) {
    const Bytes data = random_bytes(size);
    for (const std::size_t most : {std::size_t{100'000}, std::size_t{3 << 20}, std::size_t{64 << 20}}) {
      for (const bool past_cache : {false, true}) {
        const FileDescriptor file = unnamed_file(GetParam());
        ASSERT_TRUE(file.is_open());
        SequentialWriter writer(file, past_cache);
        ASSERT_TRUE(append_in_pieces(writer, data, most) && writer.finish());
        ASSERT_TRUE(content_of(file) == data) << size << " bytes in pieces of up to " << most;
      }
    }
  }
}

TEST_P(SequentialWriterTest, LargeFilesGoPastTheCacheWhereTheyCan) {
  const auto is_direct = [](const FileDescriptor& file) {
    return (::fcntl(file.get(), F_GETFL) & O_DIRECT) != 0;
  };
  const FileDescriptor other = unnamed_file(GetParam());
  const bool can_be = ::fcntl(other.get(), F_SETFL, O_DIRECT) == 0;
  for (const bool past_cache : {false, true}) {
    const FileDescriptor file = unnamed_file(GetParam());
    SequentialWriter writer(file, past_cache);
    ASSERT_TRUE(writer.append(random_bytes(kCached - 1)));
    EXPECT_FALSE(is_direct(file));
    ASSERT_TRUE(writer.append(random_bytes(2)));
    EXPECT_EQ(is_direct(file), past_cache && can_be);
    ASSERT_TRUE(writer.finish());
    EXPECT_FALSE(is_direct(file));
  }
}

// A limit that is not a multiple of what direct writes need.
TEST_P(SequentialWriterTest, AFileThatGrowsTooLargeIsThatError) {
  const Bytes data = random_bytes(kCached + 2 * kBuffer);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limited = before;
  limited.rlim_cur = kCached + kBuffer + 12'345;
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limited), 0);
  const FileDescriptor file = unnamed_file(GetParam());
  SequentialWriter writer(file, true);
  const bool is_written = writer.append(data) && writer.finish();
  const int number = errno;
  const bool is_finished = writer.finish();
  const int again = errno;
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(is_written);
  EXPECT_EQ(number, EFBIG);
  EXPECT_FALSE(is_finished) << "after an error";
  EXPECT_EQ(again, EFBIG);
}

INSTANTIATE_TEST_SUITE_P(Folders, SequentialWriterTest, testing::Values(".", "/dev/shm"));

}  // namespace
}  // namespace headrace
