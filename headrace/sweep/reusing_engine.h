#pragma once

/// \file An engine for many runs of one model: loading its graph, and running it for the first time, takes
/// longer than many a small run.

#include <memory>

#include "headrace/engine/engine.h"

namespace headrace {

/// A view of `engine` that keeps up to `most_idle` models when they are destroyed. A later load of the same
/// graph, with as many threads, takes one of them and restores the variables of the folder that was asked
/// for. So it is as if it had been loaded anew. Thread-safe. Borrows `engine`.
/// REQUIRES: no call is run after its model was destroyed; once a call has failed, nothing is loaded any more
std::unique_ptr<Engine> make_reusing(Engine& engine, std::size_t most_idle);

}  // namespace headrace
