#pragma once

/// \file The name of a spill in a receipt: docs/formats/plan.md, "Work".

#include <cstdint>
#include <string>

namespace headrace {

/// A rows object, docs/formats/rows.md.
struct KeptSpill {
  std::string key;  // in the work folder
  std::uint64_t size_bytes = 0;
};

}  // namespace headrace
