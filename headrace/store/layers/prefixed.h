#pragma once

/// \file A folder of a store as a store of its own.

#include <memory>

#include "headrace/store/location.h"

namespace headrace {

/// The store whose keys are those below `folder`, without that prefix. Nothing outside is seen or touched: a
/// key with ".." breaks the grammar. Error messages and `describe` give the full place of objects. Keys are
/// limited to 1,024 bytes minus the length of the folder's key. An upload must not outlive the store that
/// started it.
std::unique_ptr<Store> make_prefixed(Location folder);

}  // namespace headrace
