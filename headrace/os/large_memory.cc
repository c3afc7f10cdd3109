#include "headrace/os/large_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace headrace {
namespace {

constexpr auto kAlignment = static_cast<std::align_val_t>(kLargeMemoryAlignmentBytes);
constexpr std::size_t kHugePageBytes = 2 << 20;

}  // namespace

void LargeMemoryDelete::operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }

LargeMemory make_large_memory(std::size_t size) {
  LargeMemory memory(static_cast<std::byte*>(::operator new(size, kAlignment)));
  ask_for_huge_pages({memory.get(), size});
  return memory;
}

void ask_for_huge_pages(MutableBytesView memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::size_t skipped = (kHugePageBytes - address % kHugePageBytes) % kHugePageBytes;
  if (memory.size() < skipped + kHugePageBytes) return;
  const std::size_t whole = (memory.size() - skipped) / kHugePageBytes * kHugePageBytes;
  madvise(memory.data() + skipped, whole, MADV_HUGEPAGE);
}

}  // namespace headrace
