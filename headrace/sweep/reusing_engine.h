#pragma once

/// \file An engine for many runs of one model: loading its graph, and running it for the first time, takes
/// longer than many a small run.

#include <memory>

#include "headrace/engine/engine.h"

namespace headrace {

/// A view of an engine that keeps models when they are destroyed. A later load of the same graph, with as
/// many threads, takes one of them and restores the variables of the folder that was asked for. So it is as
/// if it had been loaded anew, but for generators of random numbers within the graph that are no variables:
/// those go on. Thread-safe.
/// REQUIRES: no call is run after its model was destroyed; once a call has failed, nothing is loaded any more
class ReusingEngine : public Engine {
 public:
  /// So many models are kept; none before this is called.
  virtual void keep_idle(std::size_t most) = 0;
};

/// Borrows `engine`.
std::unique_ptr<ReusingEngine> make_reusing(Engine& engine);

}  // namespace headrace
