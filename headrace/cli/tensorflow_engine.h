#pragma once

/// \file The TensorFlow engine as commands open it.

#include <memory>
#include <string>

#include "headrace/cli/command.h"
#include "headrace/engine/engine.h"
#include "headrace/engine/tensorflow/tensorflow.h"
#include "headrace/engine/tensorflow/trace.h"
#include "headrace/store/staging.h"

namespace headrace {

struct OpenEngine {
  std::shared_ptr<Engine> engine;
  TensorFlowLibrary library;
};

/// \error kNotFound  TensorFlow is not installed; the message says what to install or to set
Result<OpenEngine> open_engine(const CommandContext& context);

/// How this process traces models: interpreter, package, cache ($XDG_CACHE_HOME or ~/.cache, and
/// headrace/models).
Result<TraceOptions> trace_options(const CommandContext& context, const OpenEngine& engine);

}  // namespace headrace
