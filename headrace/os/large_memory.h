#pragma once

/// \file Memory for much data: aligned, not initialised, and on huge pages if the system has them.

#include <cstddef>
#include <memory>

#include "headrace/base/bytes.h"

namespace headrace {

inline constexpr std::size_t kLargeMemoryAlignmentBytes = 64;

struct LargeMemoryDelete {
  void operator()(std::byte* memory) const;
};
using LargeMemory = std::unique_ptr<std::byte[], LargeMemoryDelete>;

/// Allocates memory with undefined content. Thread-safe. Throws std::bad_alloc.
LargeMemory make_large_memory(std::size_t size);

/// Asks the system to use huge pages for the parts of this memory that are not touched yet. This gives fewer
/// page faults when the memory is filled, and fewer TLB misses when it is read at random. Does no harm if the
/// system has no huge pages. Thread-safe.
void ask_for_huge_pages(MutableBytesView memory);

}  // namespace headrace
