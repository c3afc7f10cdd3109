#pragma once

/// \file The two caches of one store, and the connection to their cluster. The connection is made when it is
/// first needed. Internal to the driver.

#include <memory>
#include <mutex>
#include <string>

#include "headrace/net/ignite/cache.h"
#include "headrace/store/ignite/ignite_options.h"
#include "headrace/store/store.h"

namespace headrace {

/// The two caches, for the requests of one call.
struct IgniteCaches {
  ignite::Cache heads;
  ignite::Cache chunks;
  std::stop_token stop;
  std::chrono::milliseconds deadline;
};

/// Thread-safe. While one thread connects, others wait.
class IgniteClient {
 public:
  /// `root` names the store in messages, as in "ignite://host:10800/cache".
  IgniteClient(std::string root, std::string name, IgniteOptions options);

  /// Returns the caches for reading. If they do not exist, requests fail with kNotFound.
  /// \error as for Cluster::connect
  Result<IgniteCaches> for_reading(const CallOptions& call);
  /// Returns the caches for writing. Creates them if they do not exist.
  /// \error as for for_reading and Cache::get_or_create
  Result<IgniteCaches> for_writing(const CallOptions& call);

  /// To be called when the caches are gone, as after a restart of a cluster without persistence. The next
  /// for_writing creates them again.
  void forget_caches();

  std::string describe(std::string_view key) const;
  const IgniteOptions& options() const { return options_; }
  /// Milliseconds since 1970.
  std::int64_t now_ms() const;

 private:
  Result<std::shared_ptr<ignite::Cluster>> connect(const CallOptions& call) const;

  const std::string root_;
  const std::string name_;
  const IgniteOptions options_;
  std::mutex mutex_;
  std::shared_ptr<ignite::Cluster> cluster_;
  bool is_created_ = false;
};

/// Whether the error says that the cache does not exist, so that the store holds no object.
bool is_missing(const Error& error);

}  // namespace headrace
