#pragma once

/// \file TensorFlow as an engine. Uses the library of `pip install tensorflow-cpu` through its C API, loaded
/// at run time and never linked. Needs TensorFlow 2.16 or newer, below 3.

#include <memory>
#include <string>

#include "headrace/base/environment.h"
#include "headrace/base/result.h"
#include "headrace/engine/engine.h"

namespace headrace {

/// Sets the variables that TensorFlow reads from the process's environment while it is loaded:
/// TF_DETERMINISTIC_OPS=1, TF_ENABLE_ONEDNN_OPTS=1, and TF_CPP_MIN_LOG_LEVEL=2 unless that is already set.
/// Entry points call it first, before they start any thread, because setenv is not thread-safe.
/// `open_tensorflow` fails without it.
void set_tensorflow_environment();

struct TensorFlowLibrary {
  std::string file;    // …/site-packages/tensorflow/libtensorflow_cc.so.2
  std::string folder;  // …/site-packages/tensorflow
};

/// Looks for TensorFlow in the first of these places that is given: `path`, the library or its folder; the
/// variable HEADRACE_TENSORFLOW, likewise; the packages of the interpreter HEADRACE_PYTHON; the packages of
/// python3 on PATH. Empty `path`: not given. In the last two cases, runs the interpreter (about 50 ms)
/// without importing TensorFlow.
/// \error kNotFound  TensorFlow is not there; the message says what to install or to set
Result<TensorFlowLibrary> find_tensorflow(const std::string& path, const Environment& environment);

/// The Python interpreter to use with a TensorFlow: HEADRACE_PYTHON if it is set, otherwise the interpreter
/// of the environment in which the wheel is installed, otherwise python3 on PATH.
/// \error kNotFound  there is none
Result<std::string> find_interpreter(const Environment& environment, const std::string& tensorflow_folder);

/// Loads the library, which takes 0.4 to 1 s the first time. A process can load only one TensorFlow, and
/// keeps it until it ends. Thread-safe.
/// \error kFailedPrecondition  it is too old or cannot be loaded, another one is already loaded, or
///                             `set_tensorflow_environment` was not called
Result<std::shared_ptr<Engine>> open_tensorflow(const TensorFlowLibrary& library);

}  // namespace headrace
