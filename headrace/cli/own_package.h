#pragma once

/// \file The Python package that belongs to this program.

#include <string>

#include "headrace/base/result.h"

namespace headrace {

/// The folder to put on PYTHONPATH; see os/python_program.h.
/// \error kNotFound
Result<std::string> own_python_package();

}  // namespace headrace
