#include "headrace/os/large_memory.h"

#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

namespace headrace {
namespace {

// Whether the system was asked for huge pages at that address; proc(5), VmFlags of smaps.
bool is_of_huge_pages(const std::byte* memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  std::ifstream maps("/proc/self/smaps");
  bool is_there = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2)
      is_there = begin <= address && address < end;
    if (is_there && line.starts_with("VmFlags:")) return line.find(" hg") != std::string::npos;
  }
  return false;
}

bool has_huge_pages() { return std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled").good(); }

TEST(LargeMemory, IsAlignedAndWritable) {
  for (const std::size_t size : {0, 1, 64, 65, 1 << 20}) {
    const LargeMemory memory = make_large_memory(size);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % kLargeMemoryAlignmentBytes, 0U);
    if (size > 0) std::memset(memory.get(), 1, size);
  }
}

TEST(LargeMemory, HasHugePagesWhereItHoldsWholeOnes) {
  constexpr std::size_t kHugePage = 2 << 20;
  const LargeMemory memory = make_large_memory(4 * kHugePage);
  const std::size_t into = reinterpret_cast<std::uintptr_t>(memory.get()) % kHugePage;
  const std::byte* const first_whole = memory.get() + (kHugePage - into) % kHugePage;
  EXPECT_EQ(is_of_huge_pages(first_whole), has_huge_pages());
  EXPECT_EQ(is_of_huge_pages(first_whole + 3 * kHugePage - 1), has_huge_pages())
      << "three fit wherever it begins";
}

}  // namespace
}  // namespace headrace
