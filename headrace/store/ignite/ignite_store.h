#pragma once

/// \file Objects in the memory of an Apache Ignite cluster. docs/formats/ignite-store.md.

#include <memory>
#include <string>

#include "headrace/store/ignite/ignite_options.h"
#include "headrace/store/store.h"

namespace headrace {

/// Opens a store, which connects when it is first used. `root` names the store in messages, as in
/// "ignite://host:10800/cache". The store's two caches are "<name>.heads" and "<name>.chunks".
///
/// `list_unfinished` shows every unfinished write. But a chunk stays unlisted for ever if a node stores it
/// only after its upload was removed: its writer was stalled, or its connection was lost.
std::unique_ptr<Store> open_ignite_store(std::string root, std::string name, IgniteOptions options);

}  // namespace headrace
