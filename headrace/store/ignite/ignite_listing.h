#pragma once

/// \file Listings: the cache of heads has no order, so the driver sorts. Internal to the driver.

#include <functional>

#include "headrace/store/ignite/ignite_caches.h"
#include "headrace/store/store.h"

namespace headrace {

/// As Store::list. Keeps up to about `memory_bytes` of names, and scans again for those after them.
Status list_heads(const IgniteCaches& caches, std::string_view prefix, const ListOptions& options,
                  std::size_t memory_bytes, const std::function<bool(const ObjectInfo&)>& visit);

/// As Store::list_unfinished.
Status list_notes(const IgniteCaches& caches, std::string_view prefix,
                  const std::function<bool(const UnfinishedWrite&)>& visit);

}  // namespace headrace
