#pragma once

/// \file The common parts of all child processes that run our Python package.

#include <map>
#include <string>
#include <string_view>

#include "headrace/base/environment.h"
#include "headrace/base/result.h"
#include "headrace/engine/tensorflow/trace.h"

namespace headrace {

/// The environment of such a process: the variables of `environment`, with our package first on Python's
/// path, and with TensorFlow set to be quiet and deterministic.
std::map<std::string, std::string, std::less<>> python_variables(const TraceOptions& options,
                                                                 const Environment& environment);

/// Converts such a process's error report about an unusable model. `kind` is that of ModelError in
/// python/headrace/_src/errors.py. The code is kInvalidArgument if the model is at fault, and
/// kFailedPrecondition if the interpreter is.
Error python_error(std::string_view kind, std::string_view message);

}  // namespace headrace
