#pragma once

/// \file Common parts of the programs of our Python package, however this process communicates with them.

#include <map>
#include <string>
#include <string_view>

#include "headrace/base/environment.h"
#include "headrace/base/result.h"
#include "headrace/engine/tensorflow/trace.h"

namespace headrace {

/// Their environment: like ours, but with our package first, and TensorFlow quiet and deterministic.
std::map<std::string, std::string, std::less<>> python_variables(const TraceOptions& options,
                                                                 const Environment& environment);

/// Their error report about an unusable model: `kind` as ModelError in python/headrace/_src/errors.py.
/// kInvalidArgument if the model is at fault, kFailedPrecondition if the interpreter is.
Error python_error(std::string_view kind, std::string_view message);

}  // namespace headrace
