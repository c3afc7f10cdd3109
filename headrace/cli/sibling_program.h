#pragma once

/// \file Other programs of Headrace.

#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/environment.h"

namespace headrace {

/// The path of a program that lies beside this one, else on PATH. `built_without`: why it may be missing.
/// \error kNotFound
Result<std::string> find_sibling_program(std::string_view name, std::string_view built_without,
                                         const Environment& environment);

/// Becomes that program, called with these words, the first of which is replaced by its path.
/// \error kNotFound  the system does not start it
Error become_program(const std::string& program, std::vector<std::string> words);

}  // namespace headrace
