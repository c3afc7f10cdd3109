#include <new>

#include "headrace/os/large_memory.h"

namespace headrace {
namespace {

constexpr auto kAlignment = static_cast<std::align_val_t>(kLargeMemoryAlignmentBytes);

}  // namespace

void LargeMemoryDelete::operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }

LargeMemory make_large_memory(std::size_t size) {
  return LargeMemory(static_cast<std::byte*>(::operator new(size, kAlignment)));
}

void ask_for_huge_pages(MutableBytesView) {}

}  // namespace headrace
