#pragma once

/// \file The messages of Ignite's thin protocol: operations, and the parts that requests and responses have
/// in common. docs/formats/ignite-protocol.md has their layout.

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

/// A version of the cluster's set of nodes. A larger version is newer.
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

/// Appends an encoded string. Strings are objects, too.
void append_string(Bytes& target, std::string_view text);
/// Appends the encoded null.
void append_null(Bytes& target);

/// Encode a string, a byte array and a long as an object, for keys and values.
Bytes encode_string(std::string_view text);
Bytes encode_bytes(BytesView content);
Bytes encode_long(std::int64_t value);
/// The content of an encoded byte array, which views `object`.
/// \error kInvalidArgument  `object` is another object
Result<BytesView> byte_array_content(BytesView object);

/// Reads an encoded string or null, which gives none. Returns false if neither is at the cursor.
bool read_text(ObjectCursor& cursor, std::optional<std::string>& text);
/// Reads an encoded UUID.
bool read_node_id(ObjectCursor& cursor, NodeId& id);
/// Takes the object at the cursor.
/// \error as for object_size
Result<BytesView> take_object(ObjectCursor& cursor);

/// Java's String.hashCode of a text. Ignite identifies a cache by the hash of its name.
std::int32_t java_hash(std::string_view text);

/// A response. `body` is its content without the header. Movable. The destructor returns the buffer to its
/// pool.
struct Response {
  PooledBuffer buffer;
  std::size_t body_offset = 0;
  BytesView body() const { return buffer.view().subspan(body_offset); }
};

/// The address of a node. `text` is "127.0.0.1:10800", with an IPv6 address in brackets.
struct Address {
  std::string host;
  std::uint16_t port = 10800;
  std::string text() const;
  bool operator==(const Address&) const = default;
};
/// Parses "host", "host:port" or "[v6]:port".
/// \error kInvalidArgument  `text` has another form
Result<Address> parse_address(std::string_view text);

/// The error for a message that breaks the protocol. `what` names the part that is malformed.
Error malformed(std::string_view what);

}  // namespace headrace::ignite
