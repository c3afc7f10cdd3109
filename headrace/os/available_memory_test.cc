#include "headrace/os/available_memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace headrace {
namespace {

class AvailableMemory : public testing::Test {
 protected:
  AvailableMemory() : root(testing::TempDir() + "headrace-available-memory") {
    std::filesystem::remove_all(root);
  }
  ~AvailableMemory() override { std::filesystem::remove_all(root); }

  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = root + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  const std::string root;
};

TEST_F(AvailableMemory, IsThatOfTheMachineOrOfTheCgroupIfThatIsLess) {
  EXPECT_FALSE(available_memory_bytes(root));
  write("/proc/meminfo", "MemTotal:  9000 kB\nMemAvailable:   1000 kB\nBuffers: 5 kB\n");
  EXPECT_EQ(available_memory_bytes(root), 1'024'000U);
  write("/sys/fs/cgroup/memory.max", "500000\n");
  write("/sys/fs/cgroup/memory.current", "300000\n");
  EXPECT_EQ(available_memory_bytes(root), 200'000U);
  write("/sys/fs/cgroup/memory.stat", "anon 7\ninactive_file 100000\nactive_file 9\n");
  EXPECT_EQ(available_memory_bytes(root), 300'000U);
  write("/sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(available_memory_bytes(root), 1'024'000U);
}

TEST_F(AvailableMemory, CountsTheCgroupOfTheProcessAndThoseAboveIt) {
  write("/proc/self/cgroup", "1:memory:/other\n0::/job/step\n");
  write("/sys/fs/cgroup/job/step/memory.max", "900000\n");
  write("/sys/fs/cgroup/job/step/memory.current", "100000\n");
  EXPECT_EQ(available_memory_bytes(root), 800'000U);
  write("/sys/fs/cgroup/job/memory.max", "500000\n");
  write("/sys/fs/cgroup/job/memory.current", "200000\n");
  EXPECT_EQ(available_memory_bytes(root), 300'000U);
}

TEST_F(AvailableMemory, IsNothingBeyondTheLimit) {
  write("/sys/fs/cgroup/memory.max", "100\n");
  write("/sys/fs/cgroup/memory.current", "300\n");
  EXPECT_EQ(available_memory_bytes(root), 0U);
}

TEST(AvailableMemoryHere, IsKnown) { EXPECT_GT(available_memory_bytes().value_or(0), 0U); }

}  // namespace
}  // namespace headrace
