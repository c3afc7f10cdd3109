#pragma once

/// \file Names that TensorFlow gives to files before it renames them: docs/tensorflow-file-systems.md.

#include <optional>
#include <string>
#include <string_view>

namespace headrace {

/// The final name of a file with this temporary name: "P.index" for "P.index.tempstate1234", and
/// "P.data-00000-of-00001" for "P.part-00000-of-00001.data-00000-of-00001". The index of a checkpoint's only
/// part keeps its name, except for an ending such as ".tempstate1234". None if the name is not temporary.
std::optional<std::string> final_name(std::string_view name);

}  // namespace headrace
