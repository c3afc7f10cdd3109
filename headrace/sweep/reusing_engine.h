#pragma once

/// \file An engine for many runs of one model. For a small run, it takes longer to load the graph and run it
/// for the first time than to do all the rest.

#include <memory>

#include "headrace/engine/engine.h"

namespace headrace {

/// A view of an engine that keeps models when they are destroyed. A later load of the same graph with the
/// same numbers of threads reuses such a model, and restores its variables from the requested folder. The
/// result equals a newly loaded model, except that random generators in the graph that are not variables
/// keep their state. Thread-safe.
/// REQUIRES: no call is run after its model was destroyed; after a call has failed, no model is loaded
class ReusingEngine : public Engine {
 public:
  /// Sets how many unused models are kept. The default is 0.
  virtual void keep_idle(std::size_t most) = 0;
};

/// `engine` must outlive the result and its models.
std::unique_ptr<ReusingEngine> make_reusing(Engine& engine);

}  // namespace headrace
