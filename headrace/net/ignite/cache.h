#pragma once

/// \file One cache of a cluster: a map from keys to values, both encoded objects (object_size.h).

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/net/ignite/cluster.h"

namespace headrace::ignite {

/// An encoded object inside the response that brought it.
struct StoredObject {
  Response response;
  BytesView bytes;
};

struct Entry {
  BytesView key;
  BytesView value;
};

/// Entries inside the responses that brought them.
struct StoredEntries {
  std::vector<Response> responses;
  std::vector<Entry> entries;
};

/// Bounds of the requests of get_all, put_all and remove_keys; one entry may be larger.
inline constexpr std::size_t kKeysPerRequest = 1'000;
inline constexpr std::size_t kBytesPerRequest = std::size_t{1} << 20;

/// How a cache that is not there yet is created; the rest is Ignite's default.
struct NewCacheOptions {
  bool is_replicated = false;
  bool is_transactional = false;
  std::int32_t backups = 0;
};

/// Thread-safe. Each function sends one request, those for many keys a few (cache_pipeline.h). Errors are
/// Cluster::call's, with the cache's name; kNotFound: there is no such cache. Requests marked "unsafe" are
/// not repeated after a lost connection.
class Cache {
 public:
  Cache(std::shared_ptr<Cluster> cluster, std::string name);
  /// The same cache, whose requests take `timeout` at most, each with its repetitions.
  Cache within(std::chrono::milliseconds timeout) const;

  /// The names of all caches.
  static Result<std::vector<std::string>> names(Cluster& cluster, const std::stop_token& stop = {});
  /// Does nothing if the cache is there, with whatever options.
  Status get_or_create(const NewCacheOptions& options, const std::stop_token& stop = {}) const;
  /// How many copies of a partition there are besides the primary one; of a replicated cache, a large number.
  Result<std::int32_t> backups(const std::stop_token& stop = {}) const;
  /// Unsafe.
  Status destroy(const std::stop_token& stop = {}) const;

  Result<std::optional<StoredObject>> get(BytesView key, const std::stop_token& stop = {}) const;
  /// Those of the keys that are there, in any order. Each key is asked for at the node that owns it, up to
  /// kKeysPerRequest in a request. All values together have to fit into memory.
  Result<StoredEntries> get_all(const std::vector<BytesView>& keys, const std::stop_token& stop = {}) const;
  /// The same for keys that all lie in one partition (-1: of a cache that is not partitioned): one request,
  /// to its owner, or to another node while that one is away.
  Result<StoredEntries> get_all_in(std::int32_t partition, const std::vector<BytesView>& keys,
                                   const std::stop_token& stop = {}) const;
  Status put(BytesView key, BytesView value, const std::stop_token& stop = {}) const;
  /// Not atomic: after an error, any of the entries may be there. Each goes to the node that owns it, in
  /// requests of up to kKeysPerRequest entries or kBytesPerRequest.
  Status put_all(const std::vector<Entry>& entries, const std::stop_token& stop = {}) const;
  /// True: it was absent, and is there now. Unsafe.
  Result<bool> put_if_absent(BytesView key, BytesView value, const std::stop_token& stop = {}) const;
  /// True: the value was `expected`, and is `value` now. Unsafe.
  Result<bool> replace_if_equals(BytesView key, BytesView expected, BytesView value,
                                 const std::stop_token& stop = {}) const;
  /// True: it was there. Unsafe.
  Result<bool> remove_key(BytesView key, const std::stop_token& stop = {}) const;
  /// Missing keys are not errors. Not atomic, and sent as `get_all` sends.
  Status remove_keys(const std::vector<BytesView>& keys, const std::stop_token& stop = {}) const;
  /// True: the value was `expected`, and the key is gone. Unsafe.
  Result<bool> remove_if_equals(BytesView key, BytesView expected, const std::stop_token& stop = {}) const;
  /// The value before. Unsafe.
  Result<std::optional<StoredObject>> get_and_put(BytesView key, BytesView value,
                                                  const std::stop_token& stop = {}) const;
  /// The number of entries, each counted once.
  Result<std::int64_t> size(const std::stop_token& stop = {}) const;
  /// Removes all entries, also those that others put meanwhile. Unsafe.
  Status clear(const std::stop_token& stop = {}) const;

  const std::string& name() const { return name_; }
  std::int32_t id() const { return id_; }
  Cluster& cluster() const { return *cluster_; }

 private:
  friend class CachePipeline;
  Bytes begin_body() const;
  /// Without a map any node will do: the request itself tells what is wrong.
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
