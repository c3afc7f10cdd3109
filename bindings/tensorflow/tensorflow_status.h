#pragma once

/// \file The one thing that the plug-in calls of TensorFlow: how it says what went wrong.

#include "bindings/tensorflow/filesystem_abi.h"
#include "headrace/base/result.h"

namespace headrace::tensorflow {

/// Looks for TensorFlow's function among what this process has loaded, however it was loaded. False if it is
/// not there; then `tell` does nothing.
bool find_status_function();

/// Codes are TensorFlow's. Thread-safe.
void tell(TF_Status* status, const Status& outcome);

}  // namespace headrace::tensorflow
