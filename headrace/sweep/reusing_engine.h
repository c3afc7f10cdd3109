#pragma once

/// \file An engine for many runs of one model: loading its graph, and running it for the first time, takes longer
/// than many a small run.

#include <memory>

#include "headrace/engine/engine.h"

namespace headrace {

/// A view of `engine` that keeps up to `most_idle` models when they are destroyed. A later load of the same
/// graph, with as many threads, takes one of them and restores the variables of the folder that was asked for. So
/// it is as if it had been loaded, but for the time, and what calls that outlive their model see: REQUIRES that
/// none is run. Where a call of a model has failed, load no more by this engine. Thread-safe. Borrows `engine`.
std::unique_ptr<Engine> make_reusing(Engine& engine, std::size_t most_idle);

}  // namespace headrace
