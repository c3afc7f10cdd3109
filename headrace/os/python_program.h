#pragma once

/// \file Where a Python interpreter and our Python package are, for programs of that package.

#include <map>
#include <optional>
#include <string>

#include "headrace/base/environment.h"
#include "headrace/base/result.h"

namespace headrace {

bool is_executable_file(const std::string& path);

/// A program by path, or by name on PATH.
std::optional<std::string> find_program(const std::string& name, const Environment& environment);

/// HEADRACE_PYTHON, which the `headrace` of a wheel sets to its own interpreter; none if it is not set.
/// \error kNotFound  it names no program
Result<std::optional<std::string>> chosen_python(const Environment& environment);

/// HEADRACE_PYTHON, else python3 on PATH.
/// \error kNotFound
Result<std::string> find_python(const Environment& environment);

/// The folder whose `headrace` is the Python package that belongs to this executable: <its folder>/../python,
/// <its folder>/../lib/headrace/python, or, in a wheel, <its folder>/../...
/// \error kNotFound
Result<std::string> find_python_package(const std::string& executable);

/// Like ours, but with the package in that folder first.
std::map<std::string, std::string, std::less<>> variables_with_package(const std::string& package_folder,
                                                                       const Environment& environment);

}  // namespace headrace
