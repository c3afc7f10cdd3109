#pragma once

/// \file Memory for much data: aligned, not set to anything, of huge pages where the system has them.

#include <cstddef>
#include <memory>

namespace headrace {

inline constexpr std::size_t kLargeMemoryAlignmentBytes = 64;

struct LargeMemoryDelete {
  void operator()(std::byte* memory) const;
};
using LargeMemory = std::unique_ptr<std::byte[], LargeMemoryDelete>;

/// The content is undefined. Any thread. Throws std::bad_alloc.
LargeMemory make_large_memory(std::size_t size);

}  // namespace headrace
