#pragma once

/// \file A place in a store: what most of Headrace is given instead of a URL.

#include <memory>
#include <string>
#include <string_view>

#include "headrace/store/store.h"
#include "headrace/store/url.h"

namespace headrace {

/// An object, a folder or the root of a store; `StoreRegistry::open` makes one of a URL. A value: copies
/// share the store.
struct Location {
  std::shared_ptr<Store> store;
  std::string key;  // object or folder; empty: the store's root
  Url url;

  /// The object or folder `name` below this one.
  Location at(std::string_view name) const;
  std::string describe() const { return store->describe(key); }
};

}  // namespace headrace
