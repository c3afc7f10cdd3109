#pragma once

/// \file A file of a slice, as it was listed.

#include <cstdint>
#include <string>

#include "headrace/store/location.h"

namespace headrace {

struct SourceFile {
  Location location;
  std::uint64_t size_bytes = 0;
  Version version;  // only this one is read
  /// What the ids of its rows begin with, unique in the input: its path below the input, or the last segment
  /// of an input of one file.
  std::string name;
};

}  // namespace headrace
