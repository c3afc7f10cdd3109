#pragma once

/// \file Knows the drivers, and opens the store that a URL lies in. registry.cc holds the only list of them.

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

/// Opens stores, one per scheme and authority, and keeps them. Thread-safe.
class StoreRegistry {
 public:
  using Warn = std::function<void(const std::string&)>;

  /// `environment` provides credentials and endpoints; it is copied. `warn` is called, in the thread that
  /// opens a store for the first time, if something makes the store unsafe.
  explicit StoreRegistry(Environment environment, Warn warn = {});
  ~StoreRegistry();

  /// Parses and opens; no request is made yet.
  /// \error kInvalidArgument  no URL, a misspelt one, or an unknown scheme (the message lists the known ones)
  Result<Location> open(std::string_view url);

  /// `OpenedStore::server` of the store that the URL lies in; empty if it was not opened.
  std::string server_of(const Url& url) const;

  /// From now on, URLs of this scheme, authority and query lie in `store`: a test shares one among
  /// registries.
  void put(const Url& place, std::shared_ptr<Store> store);

  /// The environment that it was made with.
  const Environment& environment() const;

  /// The counters of all opened stores' drivers; those with the same name are added up.
  std::vector<StoreCounter> counters() const;

  /// All drivers of this program, in the order of registry.cc; drivers from outside the tree come last.
  static std::vector<const StoreDriver*> drivers();
  static std::vector<std::string> schemes();
  /// \error kInvalidArgument  no driver has that scheme (the message lists the known ones)
  static Result<const StoreDriver*> driver(std::string_view scheme);
  /// Parses as `open` does, without opening; the scheme need not be known.
  /// \error kInvalidArgument  no URL, or a misspelt one
  static Result<Url> parse(std::string_view url);

 private:
  struct Open;
  std::unique_ptr<Open> open_;
};

}  // namespace headrace
