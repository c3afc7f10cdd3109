#pragma once

/// \file TensorFlow as an engine, from the library of `pip install tensorflow-cpu`: loaded at run time, never
/// linked, used through its C API. Needs TensorFlow 2.16 or newer.

#include <memory>
#include <string>

#include "headrace/base/environment.h"
#include "headrace/base/result.h"
#include "headrace/engine/engine.h"

namespace headrace {

/// Sets what TensorFlow reads from the process's environment while it is loaded: TF_DETERMINISTIC_OPS=1,
/// TF_ENABLE_ONEDNN_OPTS=1, and TF_CPP_MIN_LOG_LEVEL=2 unless it is set. Entry points call it first of all,
/// before any thread is started: setenv is not thread-safe. `open_tensorflow` refuses to work without it.
void set_tensorflow_environment();

struct TensorFlowLibrary {
  std::string file;    // …/site-packages/tensorflow/libtensorflow_cc.so.2
  std::string folder;  // …/site-packages/tensorflow
};

/// Looks for TensorFlow in `path` if that is not empty (the library, or its folder), else in the variable
/// HEADRACE_TENSORFLOW (likewise), else in the packages of the interpreter HEADRACE_PYTHON, else of python3
/// on PATH. Runs the interpreter (about 50 ms), which does not import TensorFlow.
/// \error kNotFound  it is not there; the message says what to install or to set
Result<TensorFlowLibrary> find_tensorflow(const std::string& path, const Environment& environment);

/// The interpreter that goes with a TensorFlow: HEADRACE_PYTHON, else that of the wheel's own environment,
/// else python3 on PATH.
/// \error kNotFound
Result<std::string> find_interpreter(const Environment& environment, const std::string& tensorflow_folder);

/// Loads the library, 0.4 to 1 s the first time; a process has one TensorFlow, and keeps it.
/// \error kFailedPrecondition  too old, or another one is loaded already
Result<std::shared_ptr<Engine>> open_tensorflow(const TensorFlowLibrary& library);

}  // namespace headrace
