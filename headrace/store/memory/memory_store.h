#pragma once

/// \file A store in this process's memory: for tests, and as the model for new drivers.

#include <memory>
#include <string>

#include "headrace/store/store.h"

namespace headrace {

/// An empty store of its own; `name` is the authority in "memory://name/key". Promises everything.
std::unique_ptr<Store> make_memory_store(std::string name);

}  // namespace headrace
