#pragma once

/// \file The grammar of keys: one for every store, and for whatever names objects in one.

#include <string_view>

#include "headrace/base/result.h"

namespace headrace {

/// A key is UTF-8 without zero bytes, at most 1,024 bytes: segments of 1–255 bytes joined by '/', none of
/// them "." or "..". So a key never leaves the folder that it is joined to. Pure; one pass.
/// \error kInvalidArgument  the key breaks the grammar; the message says which rule
Status check_key(std::string_view key);

}  // namespace headrace
