#pragma once

/// \file Objects in the memory of an Apache Ignite cluster. docs/formats/ignite-store.md.

#include <memory>
#include <string>

#include "headrace/store/ignite/ignite_options.h"
#include "headrace/store/store.h"

namespace headrace {

/// Connects when it is first used. `root` names the store in messages, as in "ignite://host:10800/cache"; the
/// store's two caches are named after `name`.
///
/// `list_unfinished` shows every unfinished write. Chunks that a node stores only after their upload was
/// removed stay, unlisted: those that a stalled writer had sent, or whose connection was lost.
std::unique_ptr<Store> open_ignite_store(std::string root, std::string name, IgniteOptions options);

}  // namespace headrace
