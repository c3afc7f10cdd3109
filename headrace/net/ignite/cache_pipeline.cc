#include "headrace/net/ignite/cache_pipeline.h"

#include <map>

#include "headrace/base/text.h"

namespace headrace::ignite {

using std::chrono::steady_clock;

CachePipeline::~CachePipeline() {
  for (const Sent& sent : sent_)
    if (sent.connection) sent.connection->abandon(sent.request);
}

std::chrono::milliseconds CachePipeline::timeout() const {
  return cache_.timeout_.value_or(cache_.cluster().options().call_timeout);
}

Connection::Time CachePipeline::deadline() const { return steady_clock::now() + timeout(); }

Status CachePipeline::get(BytesView key, const std::stop_token& stop) {
  Bytes body = cache_.begin_body();
  append(body, key);
  return send_body(Operation::kCacheGet, std::move(body), cache_.owner_of(key, stop), stop);
}

Status CachePipeline::put(BytesView key, std::initializer_list<BytesView> value,
                          const std::stop_token& stop) {
  Bytes body = cache_.begin_body();
  std::size_t size = body.size() + key.size();
  for (const BytesView piece : value) size += piece.size();
  body.reserve(size);
  append(body, key);
  for (const BytesView piece : value) append(body, piece);
  return send_body(Operation::kCachePut, std::move(body), cache_.owner_of(key, stop), stop);
}

Status CachePipeline::send(Operation operation, BytesView rest, const std::optional<NodeId>& node,
                           const std::stop_token& stop) {
  Bytes body = cache_.begin_body();
  append(body, rest);
  return send_body(operation, std::move(body), node, stop);
}

Status CachePipeline::send_body(Operation operation, Bytes body, const std::optional<NodeId>& node,
                                const std::stop_token& stop) {
  Sent sent{.operation = operation, .body = std::move(body), .node = node, .begun = steady_clock::now()};
  Result<std::shared_ptr<Connection>> connection = cache_.cluster().connection(node, stop);
  if (connection) {
    const Result<std::int64_t> request = (*connection)->send(operation, sent.body, deadline(), stop);
    if (!request && request.error().code == Code::kInvalidArgument) return request.error();
    if (request) {
      sent.request = *request;
      sent.connection = *std::move(connection);
    }
  }
  if (stop.stop_requested() && !sent.connection) return Error{Code::kCancelled, "stopped by the caller"};
  sent_.push_back(std::move(sent));  // a request that could not be sent is sent when its response is wanted
  return {};
}

Result<Response> CachePipeline::receive_first(Sent& sent, const std::stop_token& stop) {
  if (sent.connection) {
    // The connection of a stalled node is closed, `receive` then returns an error, and another node is asked.
    (void)sent.connection->await_or_lose(sent.request, deadline(), timeout() / 3, stop);
    Result<Response> response = sent.connection->receive(sent.request, deadline(), stop);
    if (response || response.error().code != Code::kUnavailable) {
      if (!response && response.error().code == Code::kDeadlineExceeded &&
          sent.connection->last_received() < sent.begun)
        sent.connection->lose("it did not answer in time");
      return response;
    }
    sent.connection.reset();  // a lost connection closes with its last user
  }
  const auto find = [&](const PartitionMap&) { return sent.node; };
  return cache_.cluster().call_owner(sent.operation, sent.body, Repeat::kSafe, cache_.id(), find, stop,
                                     cache_.timeout_);
}

Result<Response> CachePipeline::receive(const std::stop_token& stop) {
  Sent sent = std::move(sent_.front());
  sent_.pop_front();
  Result<Response> response = receive_first(sent, stop);
  if (!response)
    return std::move(response).error().in(concat("cache \"", printable_line(cache_.name(), 200), '"'));
  return response;
}

Result<std::optional<StoredObject>> CachePipeline::receive_object(const std::stop_token& stop) {
  HEADRACE_TRY(Response response, receive(stop));
  return cache_.object_of(std::move(response));
}

namespace {

constexpr std::size_t kRequestsAtOnce = 16;

// Requests for many keys: keys of one owner share a request, up to the limits of one request.
class KeyRequests {
 public:
  KeyRequests(CachePipeline& pipeline, Operation operation, const std::stop_token& stop)
      : pipeline_(pipeline), operation_(operation), stop_(stop) {}

  Status add(const std::optional<NodeId>& owner, BytesView key, BytesView value = {}) {
    const NodeId id = owner.value_or(NodeId());
    Open& open = open_[id];
    if (open.count > 0 && (open.count == static_cast<std::int32_t>(kKeysPerRequest) ||
                           open.body.size() + key.size() + value.size() > kBytesPerRequest))
      HEADRACE_CHECK(send(owner, open));
    if (open.body.empty()) append_little_endian(open.body, std::int32_t{0});
    ++open.count;
    append(open.body, key);
    append(open.body, value);
    return {};
  }

  Result<std::vector<Response>> finish() {
    for (auto& [id, open] : open_) {
      const std::optional<NodeId> owner = id == NodeId() ? std::nullopt : std::optional(id);
      if (open.count > 0) HEADRACE_CHECK(send(owner, open));
    }
    while (pipeline_.in_flight() > 0) HEADRACE_CHECK(receive());
    return std::move(responses_);
  }

 private:
  struct Open {
    Bytes body{};
    std::int32_t count = 0;
  };

  Status send(const std::optional<NodeId>& owner, Open& open) {
    if (pipeline_.in_flight() == kRequestsAtOnce) HEADRACE_CHECK(receive());
    store_little_endian(open.body.data(), open.count);
    HEADRACE_CHECK(pipeline_.send(operation_, open.body, owner, stop_));
    open = {};
    return {};
  }
  Status receive() {
    HEADRACE_TRY(Response response, pipeline_.receive(stop_));
    responses_.push_back(std::move(response));
    return {};
  }

  CachePipeline& pipeline_;
  const Operation operation_;
  const std::stop_token stop_;
  std::map<NodeId, Open> open_{};
  std::vector<Response> responses_{};
};

Status read_entries(const Response& response, std::vector<Entry>& entries) {
  ObjectCursor cursor(response.body());
  std::size_t count = 0;
  if (!cursor.read_count(2, count)) return malformed("the number of entries");
  for (std::size_t i = 0; i < count; ++i) {
    HEADRACE_TRY(const BytesView key, take_object(cursor));
    HEADRACE_TRY(const BytesView value, take_object(cursor));
    if (value.front() != static_cast<std::byte>(TypeCode::kNull)) entries.push_back({key, value});
  }
  return {};
}

}  // namespace

Result<StoredEntries> Cache::get_all(const std::vector<BytesView>& keys, const std::stop_token& stop) const {
  CachePipeline pipeline(*this);
  KeyRequests requests(pipeline, Operation::kCacheGetAll, stop);
  const std::shared_ptr<const PartitionMap> map = map_or_none(stop);
  for (const BytesView key : keys) HEADRACE_CHECK(requests.add(map->owner_of_key(key), key));
  StoredEntries stored;
  HEADRACE_TRY(stored.responses, requests.finish());
  for (const Response& response : stored.responses) HEADRACE_CHECK(read_entries(response, stored.entries));
  return stored;
}

Result<StoredEntries> Cache::get_all_in(std::int32_t partition, const std::vector<BytesView>& keys,
                                        const std::stop_token& stop) const {
  Bytes body = begin_body();
  append_little_endian(body, static_cast<std::int32_t>(keys.size()));
  for (const BytesView key : keys) append(body, key);
  const auto find = [&](const PartitionMap& map) { return map.owner_of(partition); };
  Result<Response> response =
      cluster_->call_owner(Operation::kCacheGetAll, body, Repeat::kSafe, id_, find, stop, timeout_);
  if (!response) {
    const std::string where = partition < 0 ? "" : concat(", partition ", partition);
    return std::move(response).error().in(concat("cache \"", printable_line(name_, 200), '"', where));
  }
  StoredEntries stored;
  stored.responses.push_back(*std::move(response));
  HEADRACE_CHECK(read_entries(stored.responses.front(), stored.entries));
  return stored;
}

Status Cache::put_all(const std::vector<Entry>& entries, const std::stop_token& stop) const {
  CachePipeline pipeline(*this);
  KeyRequests requests(pipeline, Operation::kCachePutAll, stop);
  const std::shared_ptr<const PartitionMap> map = map_or_none(stop);
  for (const Entry& entry : entries)
    HEADRACE_CHECK(requests.add(map->owner_of_key(entry.key), entry.key, entry.value));
  HEADRACE_CHECK(requests.finish());
  return {};
}

Status Cache::remove_keys(const std::vector<BytesView>& keys, const std::stop_token& stop) const {
  CachePipeline pipeline(*this);
  KeyRequests requests(pipeline, Operation::kCacheRemoveKeys, stop);
  const std::shared_ptr<const PartitionMap> map = map_or_none(stop);
  for (const BytesView key : keys) HEADRACE_CHECK(requests.add(map->owner_of_key(key), key));
  HEADRACE_CHECK(requests.finish());
  return {};
}

}  // namespace headrace::ignite
