#pragma once

/// \file A folder of a store as a store of its own.

#include <memory>

#include "headrace/store/location.h"

namespace headrace {

/// The store whose keys are those below `folder`, without that prefix. Nothing outside is seen or touched:
/// a key with ".." breaks the grammar. Error messages and `describe` name objects by their whole place. A key
/// may be as much shorter than 1,024 bytes as the folder's is long. An upload must not outlive the store that
/// started it.
std::unique_ptr<Store> make_prefixed(Location folder);

}  // namespace headrace
