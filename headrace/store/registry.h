#pragma once

/// \file Knows the drivers, and opens the store that a URL lies in. registry.cc holds the only list of
/// drivers.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headrace/base/environment.h"
#include "headrace/base/result.h"
#include "headrace/store/driver.h"
#include "headrace/store/location.h"
#include "headrace/store/store.h"

namespace headrace {

/// Opens one store for each scheme, authority and query, and keeps it open. Thread-safe.
class StoreRegistry {
 public:
  using Warn = std::function<void(const std::string&)>;

  /// `environment` provides credentials and endpoints; the registry keeps a copy. `warn` is called if
  /// something makes a store unsafe, in the thread that opens that store for the first time. It may use the
  /// registry.
  explicit StoreRegistry(Environment environment, Warn warn = {});
  ~StoreRegistry();

  /// Parses the URL and opens its store. Sends no request.
  /// \error kInvalidArgument  not a URL, a misspelt URL, an unknown scheme (the message lists the known
  ///                          schemes), or a setting that the driver refuses
  Result<Location> open(std::string_view url);

  /// `OpenedStore::server` of the store that the URL lies in. Empty if this registry has not opened it.
  std::string server_of(const Url& url) const;

  /// From now on, URLs with the scheme, authority and query of `place` lie in `store`. Tests use this to
  /// share a store among registries.
  void put(const Url& place, std::shared_ptr<Store> store);

  /// The environment that was passed to the constructor.
  const Environment& environment() const;

  /// The counters of all open stores. Counters with the same name are added up.
  std::vector<StoreCounter> counters() const;

  /// All drivers of this program, in the order of registry.cc. Drivers from outside the tree come last.
  static std::vector<const StoreDriver*> drivers();
  static std::vector<std::string> schemes();
  /// \error kInvalidArgument  no driver has that scheme (the message lists the known schemes)
  static Result<const StoreDriver*> driver(std::string_view scheme);
  /// Parses as `open` does, but opens nothing. The scheme need not be known.
  /// \error kInvalidArgument  not a URL, or a misspelt URL
  static Result<Url> parse(std::string_view url);

 private:
  struct Open;
  std::unique_ptr<Open> open_;
};

}  // namespace headrace
