#pragma once

/// \file Names that TensorFlow gives files before it renames them: docs/tensorflow-file-systems.md.

#include <optional>
#include <string>
#include <string_view>

namespace headrace {

/// The name that a file of this temporary name is to have in the end: "P.index" of "P.index.tempstate1234",
/// "P.data-00000-of-00001" of "P.part-00000-of-00001.data-00000-of-00001". The index of a checkpoint's only
/// part has none but its own. None if the name is no temporary one.
std::optional<std::string> final_name(std::string_view name);

}  // namespace headrace
