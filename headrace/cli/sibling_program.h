#pragma once

/// \file Other programs of Headrace.

#include <string>
#include <string_view>

#include "headrace/base/environment.h"

namespace headrace {

/// The path of a program that lies beside this one, else on PATH. `built_without`: why it may be missing.
/// \error kNotFound
Result<std::string> find_sibling_program(std::string_view name, std::string_view built_without,
                                         const Environment& environment);

}  // namespace headrace
