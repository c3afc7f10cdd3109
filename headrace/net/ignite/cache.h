#pragma once

/// \file One cache of a cluster: a map from keys to values, both of which are encoded objects
/// (object_size.h).

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/net/ignite/cluster.h"

namespace headrace::ignite {

/// An encoded object inside the response that contains it.
struct StoredObject {
  Response response;
  BytesView bytes;
};

struct Entry {
  BytesView key;
  BytesView value;
};

/// Entries inside the responses that contain them.
struct StoredEntries {
  std::vector<Response> responses;
  std::vector<Entry> entries;
};

/// Limits for each request of get_all, put_all and remove_keys. A single entry may be larger.
inline constexpr std::size_t kKeysPerRequest = 1'000;
inline constexpr std::size_t kBytesPerRequest = std::size_t{1} << 20;

/// Options for creating a cache. All others have Ignite's defaults.
struct NewCacheOptions {
  bool is_replicated = false;
  bool is_transactional = false;
  std::int32_t backups = 0;
};

/// Thread-safe. Each function sends one request; those for many keys send several (cache_pipeline.h). Keys
/// and values that functions take are encoded objects. Requests marked "Unsafe" are not retried after a
/// connection is lost.
/// \error kNotFound  there is no such cache
/// \error            as for Cluster::call; the message names the cache
class Cache {
 public:
  Cache(std::shared_ptr<Cluster> cluster, std::string name);
  /// The same cache with another timeout: each request, including its retries, takes at most `timeout`.
  Cache within(std::chrono::milliseconds timeout) const;

  /// The names of all caches.
  static Result<std::vector<std::string>> names(Cluster& cluster, const std::stop_token& stop = {});
  /// Creates the cache. Does nothing if the cache exists, whatever its options are.
  Status get_or_create(const NewCacheOptions& options, const std::stop_token& stop = {}) const;
  /// How many copies of a partition there are in addition to the primary copy. A large number for a
  /// replicated cache.
  Result<std::int32_t> backups(const std::stop_token& stop = {}) const;
  /// Removes the cache with all entries. Unsafe.
  Status destroy(const std::stop_token& stop = {}) const;

  /// None if the key does not exist.
  Result<std::optional<StoredObject>> get(BytesView key, const std::stop_token& stop = {}) const;
  /// The entries of those keys that exist, in any order. Each key is requested from the node that owns it, up
  /// to kKeysPerRequest keys in one request. Memory: all values together.
  Result<StoredEntries> get_all(const std::vector<BytesView>& keys, const std::stop_token& stop = {}) const;
  /// As get_all, for keys that all lie in one partition; -1 for a cache that is not partitioned. Sends one
  /// request to the partition's owner, or to another node if the owner cannot be reached.
  Result<StoredEntries> get_all_in(std::int32_t partition, const std::vector<BytesView>& keys,
                                   const std::stop_token& stop = {}) const;
  Status put(BytesView key, BytesView value, const std::stop_token& stop = {}) const;
  /// Puts the entries. Not atomic: after an error, any of them may have been put. Each entry is sent to the
  /// node that owns it, in requests of up to kKeysPerRequest entries or kBytesPerRequest.
  Status put_all(const std::vector<Entry>& entries, const std::stop_token& stop = {}) const;
  /// True: the key was absent, and now has the value. Unsafe.
  Result<bool> put_if_absent(BytesView key, BytesView value, const std::stop_token& stop = {}) const;
  /// True: the value was `expected`, and is now `value`. Unsafe.
  Result<bool> replace_if_equals(BytesView key, BytesView expected, BytesView value,
                                 const std::stop_token& stop = {}) const;
  /// True: the key existed, and was removed. Unsafe.
  Result<bool> remove_key(BytesView key, const std::stop_token& stop = {}) const;
  /// Removes the keys. Missing keys are not errors. Not atomic. Sends requests as get_all does.
  Status remove_keys(const std::vector<BytesView>& keys, const std::stop_token& stop = {}) const;
  /// True: the value was `expected`, and the key was removed. Unsafe.
  Result<bool> remove_if_equals(BytesView key, BytesView expected, const std::stop_token& stop = {}) const;
  /// Puts the value, and returns the previous one. None if the key was absent. Unsafe.
  Result<std::optional<StoredObject>> get_and_put(BytesView key, BytesView value,
                                                  const std::stop_token& stop = {}) const;
  /// The number of entries, not counting backups.
  Result<std::int64_t> size(const std::stop_token& stop = {}) const;
  /// Removes all entries, also those that others put at the same time. Unsafe.
  Status clear(const std::stop_token& stop = {}) const;

  const std::string& name() const { return name_; }
  std::int32_t id() const { return id_; }
  Cluster& cluster() const { return *cluster_; }

 private:
  friend class CachePipeline;
  Bytes begin_body() const;
  /// An empty map on an error. Then any node will do, and the request itself reports the problem.
  std::shared_ptr<const PartitionMap> map_or_none(const std::stop_token& stop) const;
  std::optional<NodeId> owner_of(BytesView key, const std::stop_token& stop) const;
  Result<Response> call(Operation operation, BytesView body, Repeat repeat, std::optional<BytesView> key,
                        const std::stop_token& stop) const;
  Result<bool> ask(Operation operation, const std::vector<BytesView>& objects,
                   const std::stop_token& stop) const;
  Result<std::optional<StoredObject>> object_of(Response response) const;

  std::shared_ptr<Cluster> cluster_;
  std::string name_;
  std::int32_t id_;
  std::optional<std::chrono::milliseconds> timeout_{};
};

}  // namespace headrace::ignite
