#pragma once

/// \file A store in this process's memory, for tests and as the model for new drivers.

#include <memory>
#include <string>

#include "headrace/store/store.h"

namespace headrace {

/// Makes a new, empty store. `name` is the authority in "memory://name/key". The store has the capabilities
/// atomic_if_absent, atomic_if_version, strong_list and latest_only.
std::unique_ptr<Store> make_memory_store(std::string name);

}  // namespace headrace
