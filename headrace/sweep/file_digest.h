#pragma once

/// \file The digest of a local file.

#include <string>

#include "headrace/base/result.h"

namespace headrace {

/// SHA-256 (hex) of the file's bytes. Cost: reads the file, with a buffer of 1 MiB.
/// \error kUnknown  the file cannot be read
Result<std::string> file_digest(const std::string& path);

}  // namespace headrace
