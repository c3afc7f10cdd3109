#include "headrace/net/ignite/cache.h"

#include "headrace/base/text.h"

namespace headrace::ignite {
namespace {

// The numbers of the properties in a cache's configuration, and of their values.
enum Property : std::int16_t {
  kName = 0,
  kMode = 1,
  kAtomicity = 2,
  kBackups = 3,
  kWriteSynchronization = 4
};
constexpr std::int32_t kReplicated = 1;
constexpr std::int32_t kPartitioned = 2;
constexpr std::int32_t kTransactional = 0;
constexpr std::int32_t kAtomic = 1;
constexpr std::int32_t kFullSynchronization = 0;

void append_property(Bytes& body, Property property, std::int32_t value) {
  append_little_endian(body, property);
  append_little_endian(body, value);
}

Bytes encode_configuration(std::string_view name, const NewCacheOptions& options) {
  Bytes body(4);
  append_little_endian(body, std::int16_t{5});
  append_little_endian(body, Property::kName);
  append_string(body, name);
  append_property(body, Property::kMode, options.is_replicated ? kReplicated : kPartitioned);
  append_property(body, Property::kAtomicity, options.is_transactional ? kTransactional : kAtomic);
  append_property(body, Property::kBackups, options.backups);
  append_property(body, Property::kWriteSynchronization, kFullSynchronization);
  store_little_endian(body.data(), static_cast<std::int32_t>(body.size() - 4));
  return body;
}

Result<bool> read_answer(const Response& response) {
  if (response.body().empty()) return malformed("the answer is empty, not true or false");
  return response.body()[0] != std::byte{0};
}

}  // namespace

Cache::Cache(std::shared_ptr<Cluster> cluster, std::string name)
    : cluster_(std::move(cluster)), name_(std::move(name)), id_(java_hash(name_)) {}

Cache Cache::within(std::chrono::milliseconds timeout) const {
  Cache copy = *this;
  copy.timeout_ = timeout;
  return copy;
}

std::shared_ptr<const PartitionMap> Cache::map_or_none(const std::stop_token& stop) const {
  Result<std::shared_ptr<const PartitionMap>> map = cluster_->partitions(id_, stop);
  return map ? *std::move(map) : std::make_shared<const PartitionMap>();
}

std::optional<NodeId> Cache::owner_of(BytesView key, const std::stop_token& stop) const {
  return map_or_none(stop)->owner_of_key(key);
}

Bytes Cache::begin_body() const {
  Bytes body;
  append_little_endian(body, id_);
  append_little_endian(body, std::uint8_t{0});  // no flags
  return body;
}

Result<Response> Cache::call(Operation operation, BytesView body, Repeat repeat, std::optional<BytesView> key,
                             const std::stop_token& stop) const {
  const auto find = [&](const PartitionMap& map) { return map.owner_of_key(*key); };
  Result<Response> response = key ? cluster_->call_owner(operation, body, repeat, id_, find, stop, timeout_)
                                  : cluster_->call(operation, body, repeat, {}, stop, timeout_);
  if (!response) return std::move(response).error().in(concat("cache \"", printable_line(name_, 200), '"'));
  return response;
}

Result<bool> Cache::ask(Operation operation, const std::vector<BytesView>& objects,
                        const std::stop_token& stop) const {
  Bytes body = begin_body();
  for (const BytesView object : objects) append(body, object);
  HEADRACE_TRY(const Response response, call(operation, body, Repeat::kUnsafe, objects.front(), stop));
  return read_answer(response);
}

Result<std::vector<std::string>> Cache::names(Cluster& cluster, const std::stop_token& stop) {
  HEADRACE_TRY(const Response response, cluster.call(Operation::kCacheGetNames, {}, Repeat::kSafe, {}, stop));
  ObjectCursor cursor(response.body());
  std::size_t count = 0;
  if (!cursor.read_count(1, count)) return malformed("the names of caches");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    std::optional<std::string> name;
    if (!read_text(cursor, name)) return malformed("the name of a cache");
    if (name) names.push_back(*std::move(name));
  }
  return names;
}

Status Cache::get_or_create(const NewCacheOptions& options, const std::stop_token& stop) const {
  HEADRACE_CHECK(call(Operation::kCacheGetOrCreateWithConfiguration, encode_configuration(name_, options),
                      Repeat::kSafe, {}, stop));
  return {};
}

Result<std::int32_t> Cache::backups(const std::stop_token& stop) const {
  HEADRACE_TRY(const Response response,
               call(Operation::kCacheGetConfiguration, begin_body(), Repeat::kSafe, {}, stop));
  ObjectCursor cursor(response.body());
  std::int32_t size = 0, atomicity = 0, backups = 0;
  if (!cursor.read(size) || !cursor.read(atomicity) || !cursor.read(backups))
    return malformed("the configuration of a cache");
  return backups;
}

Status Cache::destroy(const std::stop_token& stop) const {
  Bytes body;
  append_little_endian(body, id_);
  HEADRACE_CHECK(call(Operation::kCacheDestroy, body, Repeat::kUnsafe, {}, stop));
  return {};
}

Result<std::optional<StoredObject>> Cache::object_of(Response response) const {
  ObjectCursor cursor(response.body());
  HEADRACE_TRY(const BytesView object, take_object(cursor));
  if (object.front() == static_cast<std::byte>(TypeCode::kNull)) return std::optional<StoredObject>();
  return std::optional<StoredObject>(StoredObject{std::move(response), object});
}

Result<std::optional<StoredObject>> Cache::get(BytesView key, const std::stop_token& stop) const {
  Bytes body = begin_body();
  append(body, key);
  HEADRACE_TRY(Response response, call(Operation::kCacheGet, body, Repeat::kSafe, key, stop));
  return object_of(std::move(response));
}

Status Cache::put(BytesView key, BytesView value, const std::stop_token& stop) const {
  Bytes body = begin_body();
  append(body, key);
  append(body, value);
  HEADRACE_CHECK(call(Operation::kCachePut, body, Repeat::kSafe, key, stop));
  return {};
}

Result<bool> Cache::put_if_absent(BytesView key, BytesView value, const std::stop_token& stop) const {
  return ask(Operation::kCachePutIfAbsent, {key, value}, stop);
}

Result<bool> Cache::replace_if_equals(BytesView key, BytesView expected, BytesView value,
                                      const std::stop_token& stop) const {
  return ask(Operation::kCacheReplaceIfEquals, {key, expected, value}, stop);
}

Result<bool> Cache::remove_key(BytesView key, const std::stop_token& stop) const {
  return ask(Operation::kCacheRemoveKey, {key}, stop);
}

Result<bool> Cache::remove_if_equals(BytesView key, BytesView expected, const std::stop_token& stop) const {
  return ask(Operation::kCacheRemoveIfEquals, {key, expected}, stop);
}

Result<std::optional<StoredObject>> Cache::get_and_put(BytesView key, BytesView value,
                                                       const std::stop_token& stop) const {
  Bytes body = begin_body();
  append(body, key);
  append(body, value);
  HEADRACE_TRY(Response response, call(Operation::kCacheGetAndPut, body, Repeat::kUnsafe, key, stop));
  return object_of(std::move(response));
}

Result<std::int64_t> Cache::size(const std::stop_token& stop) const {
  Bytes body = begin_body();
  append_little_endian(body, std::int32_t{0});  // primary copies
  HEADRACE_TRY(const Response response, call(Operation::kCacheGetSize, body, Repeat::kSafe, {}, stop));
  ObjectCursor cursor(response.body());
  std::int64_t size = 0;
  if (!cursor.read(size)) return malformed("the size of a cache");
  return size;
}

Status Cache::clear(const std::stop_token& stop) const {
  HEADRACE_CHECK(call(Operation::kCacheClear, begin_body(), Repeat::kUnsafe, {}, stop));
  return {};
}

}  // namespace headrace::ignite
