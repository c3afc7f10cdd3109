#pragma once

/// \file Settings for reaching the cluster of a store.

#include <chrono>
#include <functional>

#include "headrace/base/environment.h"
#include "headrace/base/result.h"
#include "headrace/net/ignite/cluster.h"
#include "headrace/store/url.h"

namespace headrace {

struct IgniteOptions {
  ignite::ClusterOptions cluster{};
  /// Copies of each chunk in addition to the first one, in caches that the driver creates.
  std::int32_t backups = 1;
  /// Memory for the names that a listing keeps at once.
  std::size_t listing_bytes = std::size_t{32} << 20;
  /// How long a failed write may take to remove the bytes that it has sent. `headrace gc` removes the rest.
  std::chrono::milliseconds cleaning_time{5'000};
  /// Wall clock, for the modification times of objects.
  std::function<std::chrono::system_clock::time_point()> now = Environment{}.now;
};

/// A store in a cluster, and its name there.
struct IgnitePlace {
  IgniteOptions options;
  std::string name;
};

/// Returns the place of ignite://host:port/name or igfs://host:port/. Reads the variables of
/// net/ignite/access.h and HEADRACE_IGNITE_BACKUPS; for igfs also IGNITE_HOST or IGFS_HOST, IGNITE_PORT and
/// IGFS_FS_NAME.
/// \error kInvalidArgument  there is no valid address, or a variable cannot be understood; the message names
///                          the variable, and never holds a secret
Result<IgnitePlace> ignite_place_from(const Url& url, const Environment& environment);

}  // namespace headrace
