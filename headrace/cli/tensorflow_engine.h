#pragma once

/// \file Opens the TensorFlow engine for commands.

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

/// Opens the engine.
/// \error kNotFound  TensorFlow is not installed; the message says what to install or which variable to set
Result<OpenEngine> open_engine(const CommandContext& context);

/// How this process traces models: the interpreter, the package, and the cache (headrace/models in
/// $XDG_CACHE_HOME or ~/.cache).
Result<TraceOptions> trace_options(const CommandContext& context, const OpenEngine& engine);

}  // namespace headrace
