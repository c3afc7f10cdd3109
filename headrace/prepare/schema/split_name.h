#pragma once

/// \file Names of splits.

#include <string>
#include <string_view>

namespace headrace {

/// True if object names can contain this split name: at most 100 letters, digits, "_", "-" and ".".
bool is_usable_split_name(std::string_view name);

/// The usual spelling of a split's name: "train" for "Train", "TRAIN", "training"; "validation" for "val",
/// "valid", "eval" …; "test" for "TEST".
std::string usual_split_name(std::string_view name);

}  // namespace headrace
