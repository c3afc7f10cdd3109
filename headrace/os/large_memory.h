#pragma once

/// \file Memory for much data: aligned, not set to anything, of huge pages where the system has them.

#include <cstddef>
#include <memory>

#include "headrace/base/bytes.h"

namespace headrace {

inline constexpr std::size_t kLargeMemoryAlignmentBytes = 64;

struct LargeMemoryDelete {
  void operator()(std::byte* memory) const;
};
using LargeMemory = std::unique_ptr<std::byte[], LargeMemoryDelete>;

/// The content is undefined. Any thread. Throws std::bad_alloc.
LargeMemory make_large_memory(std::size_t size);

/// Asks the system to give huge pages to what of this memory it has not filled yet: fewer page faults when it
/// is filled, and fewer misses of the address cache when it is read here and there. Nothing is lost where the
/// system has none. Any thread.
void ask_for_huge_pages(MutableBytesView memory);

}  // namespace headrace
