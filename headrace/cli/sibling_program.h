#pragma once

/// \file Finds and starts other programs of Headrace.

#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/environment.h"

namespace headrace {

/// The path of a program in this program's folder, or else on PATH. `built_without`: for the message, why it
/// may be missing.
/// \error kNotFound  it is in neither place
Result<std::string> find_sibling_program(std::string_view name, std::string_view built_without,
                                         const Environment& environment);

/// Replaces this process by that program. `words`: its command line; the first word is replaced by the
/// program's path. Returns only if that fails.
/// \error kNotFound  the system does not start it
Error become_program(const std::string& program, std::vector<std::string> words);

}  // namespace headrace
