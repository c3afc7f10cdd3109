#include "headrace/os/shared_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace headrace {
namespace {

FileDescriptor copy_of(const FileDescriptor& descriptor) {
  return FileDescriptor(fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 0));
}

TEST(SharedMemory, BothSeeWhatOneWrites) {
  const auto made = SharedMemory::create(10'000);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->bytes().size(), 10'000);
  const auto seen = SharedMemory::map(copy_of(made->descriptor()), 10'000, false);
  ASSERT_TRUE(seen) << seen.error().message;
  std::memcpy(made->bytes().data() + 9'995, "hello", 5);
  EXPECT_EQ(as_text(BytesView(seen->bytes()).last(5)), "hello");
}

TEST(SharedMemory, NobodyCanShrinkOrGrowIt) {
  const auto made = SharedMemory::create(8192);
  ASSERT_TRUE(made);
  EXPECT_NE(ftruncate(made->descriptor().get(), 1), 0);
  EXPECT_NE(ftruncate(made->descriptor().get(), 100'000), 0);
}

TEST(SharedMemory, WhatCouldShrinkIsNotMapped) {
  FileDescriptor shrinkable(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(shrinkable.get(), 8192), 0);
  EXPECT_EQ(SharedMemory::map(std::move(shrinkable), 8192, true).error().code, Code::kInvalidArgument);
  EXPECT_FALSE(SharedMemory::map(FileDescriptor(open("/dev/zero", O_RDWR | O_CLOEXEC)), 8192, true));
  EXPECT_FALSE(SharedMemory::map(FileDescriptor(), 8192, true));
  const auto made = SharedMemory::create(4096);
  ASSERT_TRUE(made);
  EXPECT_FALSE(SharedMemory::map(copy_of(made->descriptor()), 4097, true)) << "it is smaller";
}

TEST(SharedMemory, MayBeOfNoBytes) {
  const auto made = SharedMemory::create(0);
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->bytes().empty());
}

}  // namespace
}  // namespace headrace
