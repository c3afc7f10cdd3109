#pragma once

/// \file A file of a slice, as it was listed.

#include <cstdint>
#include <string>

#include "headrace/store/location.h"

namespace headrace {

struct SourceFile {
  Location location;
  std::uint64_t size_bytes = 0;
  Version version;  // only this version is read
  /// The ids of the file's rows begin with this name, which is unique in the input. It is the file's path
  /// below the input, or the last segment of the URL if the input is a single file.
  std::string name;
};

}  // namespace headrace
