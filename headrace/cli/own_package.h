#pragma once

/// \file The Python package that belongs to this program.

#include <string>

#include "headrace/base/result.h"

namespace headrace {

/// The folder to add to PYTHONPATH; see os/python_program.h.
/// \error kNotFound  there is no such package
Result<std::string> own_python_package();

}  // namespace headrace
