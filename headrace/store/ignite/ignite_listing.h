#pragma once

/// \file Listings. The cache of heads has no order, so the driver sorts. Internal to the driver.

#include <functional>

#include "headrace/store/ignite/ignite_caches.h"
#include "headrace/store/store.h"

namespace headrace {

/// As Store::list. Cost: a scan of the cache of heads for each `memory_bytes` of names. About that much is
/// kept in memory at once.
Status list_heads(const IgniteCaches& caches, std::string_view prefix, const ListOptions& options,
                  std::size_t memory_bytes, const std::function<bool(const ObjectInfo&)>& visit);

/// As Store::list_unfinished. Cost: a scan of the cache of heads.
Status list_notes(const IgniteCaches& caches, std::string_view prefix,
                  const std::function<bool(const UnfinishedWrite&)>& visit);

}  // namespace headrace
