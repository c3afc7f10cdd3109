#pragma once

/// \file The grammar of keys. It is the same for every store and for everything that names objects in one.

#include <string_view>

#include "headrace/base/result.h"

namespace headrace {

/// Checks that `key` is a key: at most 1,024 bytes of UTF-8 without zero bytes, in segments of 1–255 bytes
/// that are joined by '/', where no segment is "." or "..". So a key never leaves the folder that it is
/// joined to.
/// \error kInvalidArgument  the key breaks the grammar; the message says which rule
Status check_key(std::string_view key);

}  // namespace headrace
