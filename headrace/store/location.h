#pragma once

/// \file A place in a store: most of Headrace takes this instead of a URL.

#include <memory>
#include <string>
#include <string_view>

#include "headrace/store/store.h"
#include "headrace/store/url.h"

namespace headrace {

/// An object, a folder or the root of a store. `StoreRegistry::open` makes one from a URL. Copies share the
/// store.
struct Location {
  std::shared_ptr<Store> store;
  std::string key;  // object or folder; empty: the store's root
  Url url;

  /// The object or folder `name` below this one.
  Location at(std::string_view name) const;
  std::string describe() const { return store->describe(key); }
};

}  // namespace headrace
