#pragma once

/// \file The digest of a local file.

#include <string>

#include "headrace/base/result.h"

namespace headrace {

/// SHA-256 (hex) of the file's bytes. Reads a megabyte at a time.
/// \error kUnknown  it cannot be read
Result<std::string> file_digest(const std::string& path);

}  // namespace headrace
