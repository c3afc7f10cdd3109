#pragma once

/// \file Finds a Python interpreter and Headrace's Python package, for running programs of that package.

#include <map>
#include <optional>
#include <string>

#include "headrace/base/environment.h"
#include "headrace/base/result.h"

namespace headrace {

bool is_executable_file(const std::string& path);

/// The path of a program. `name` is a path if it contains a '/', otherwise a name on PATH. None if there is
/// no such program.
std::optional<std::string> find_program(const std::string& name, const Environment& environment);

/// HEADRACE_PYTHON, which the `headrace` of a wheel sets to its own interpreter. None if it is not set.
/// \error kNotFound  HEADRACE_PYTHON does not name a program
Result<std::optional<std::string>> chosen_python(const Environment& environment);

/// HEADRACE_PYTHON, else python3 on PATH.
/// \error kNotFound  there is no such program
Result<std::string> find_python(const Environment& environment);

/// The folder that contains `headrace`, the Python package that belongs to this executable. Looks in
/// <the executable's folder>/../python, then in ../lib/headrace/python, and then in ../.. (for a wheel).
/// \error kNotFound  the package is in none of them
Result<std::string> find_python_package(const std::string& executable);

/// The variables of `environment`, with `package_folder` as the first folder of PYTHONPATH.
std::map<std::string, std::string, std::less<>> variables_with_package(const std::string& package_folder,
                                                                       const Environment& environment);

}  // namespace headrace
