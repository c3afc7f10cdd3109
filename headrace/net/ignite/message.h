#pragma once

/// \file The messages of Ignite's thin protocol: operations, and the parts that requests and responses share.
/// docs/formats/ignite-protocol.md has their layout.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/net/ignite/object_cursor.h"
#include "headrace/os/buffer_pool.h"

namespace headrace::ignite {

enum class Operation : std::int16_t {
  kResourceClose = 0,
  kCacheGet = 1000,
  kCachePut = 1001,
  kCachePutIfAbsent = 1002,
  kCacheGetAll = 1003,
  kCachePutAll = 1004,
  kCacheGetAndPut = 1005,
  kCacheReplaceIfEquals = 1010,
  kCacheClear = 1013,
  kCacheRemoveKey = 1016,
  kCacheRemoveIfEquals = 1017,
  kCacheRemoveKeys = 1018,
  kCacheGetSize = 1020,
  kCacheGetNames = 1050,
  kCacheGetOrCreateWithConfiguration = 1054,
  kCacheGetConfiguration = 1055,
  kCacheDestroy = 1056,
  kCachePartitions = 1101,
  kQueryScan = 2000,
  kQueryScanNextPage = 2001,
  kQuerySqlFields = 2004,
  kQuerySqlFieldsNextPage = 2005,
  kBinaryTypeGet = 3002,
  kBinaryTypePut = 3003,
  kClusterGetState = 5000,
  kClusterChangeState = 5001,
  kClusterGetEndpoints = 5102,
};

/// A version of the cluster's set of nodes; larger is newer.
struct TopologyVersion {
  std::int64_t major = 0;
  std::int32_t minor = 0;
  auto operator<=>(const TopologyVersion&) const = default;
};

/// A node's UUID.
struct NodeId {
  std::int64_t high = 0;
  std::int64_t low = 0;
  auto operator<=>(const NodeId&) const = default;
};

/// Appends the encoded string, which is an object, too.
void append_string(Bytes& target, std::string_view text);
/// Appends the code that stands for no object.
void append_null(Bytes& target);

/// Encoded keys and values of the types that files and counters need.
Bytes encode_string(std::string_view text);
Bytes encode_bytes(BytesView content);
Bytes encode_long(std::int64_t value);
/// The content of an encoded byte array. \error kInvalidArgument  it is another object
Result<BytesView> byte_array_content(BytesView object);

/// Reads an encoded string, or nothing where there is none. False: neither is there.
bool read_text(ObjectCursor& cursor, std::optional<std::string>& text);
/// Reads an encoded UUID.
bool read_node_id(ObjectCursor& cursor, NodeId& id);
/// Takes the object at the cursor. \error kDataLoss  as object_size
Result<BytesView> take_object(ObjectCursor& cursor);

/// Java's String.hashCode of a text; Ignite identifies a cache by the one of its name.
std::int32_t java_hash(std::string_view text);

/// A response without its header. Movable; the buffer goes back to its pool with it.
struct Response {
  PooledBuffer buffer;
  std::size_t body_offset = 0;
  BytesView body() const { return buffer.view().subspan(body_offset); }
};

/// "127.0.0.1:10800"; an IPv6 address stands in brackets.
struct Address {
  std::string host;
  std::uint16_t port = 10800;
  std::string text() const;
  bool operator==(const Address&) const = default;
};
/// Parses "host", "host:port", "[v6]:port". \error kInvalidArgument
Result<Address> parse_address(std::string_view text);

/// The error of a message whose bytes are not what the protocol says.
Error malformed(std::string_view what);

}  // namespace headrace::ignite
