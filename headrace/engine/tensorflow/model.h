#pragma once

/// \file A SavedModel in a TensorFlow session. Callers use `open_tensorflow` instead.

#include <memory>
#include <string>

#include "headrace/base/result.h"
#include "headrace/engine/engine.h"
#include "headrace/engine/tensorflow/api.h"

namespace headrace::tensorflow {

/// Loads the graph with the tag "serve", and its variables. `api` must outlive the model.
/// \error as `Engine::load`
Result<std::unique_ptr<Model>> load_model(const Api& api, const std::string& folder,
                                          const ModelOptions& options);

}  // namespace headrace::tensorflow
