#pragma once

/// \file Types of complex objects, as the cluster knows them, and the ids that stand for names.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace::ignite {

/// The id of a type or field: java_hash of the name in lower case (ASCII only).
std::int32_t name_id(std::string_view name);
/// The id of a schema: FNV-1a over the ids of its fields, in order, each in little-endian.
std::int32_t schema_id(const std::vector<std::int32_t>& field_ids);

struct TypeField {
  std::string name;
  std::int32_t type_code = 0;
  std::int32_t id = 0;
};

/// The order of the fields in some objects of a type. A type has a schema for each order that occurred.
struct TypeSchema {
  std::int32_t id = 0;
  std::vector<std::size_t> fields;  // indices into BinaryType::fields
};

struct BinaryType {
  std::int32_t id = 0;
  std::string name;
  std::string affinity_field;  // empty: there is none
  std::vector<TypeField> fields;
  std::vector<TypeSchema> schemas;
  bool is_enum = false;
  std::vector<std::pair<std::string, std::int32_t>> enum_values;  // name, ordinal

  const TypeSchema* find_schema(std::int32_t schema) const;
  const TypeField* find_field(std::int32_t field) const;
};

/// Reads the answer to GET_BINARY_TYPE (3002). None if the cluster has no such type. Memory: at most about 10
/// times the size of the answer.
/// \error kDataLoss  the answer is malformed
Result<std::optional<BinaryType>> read_binary_type(BytesView answer);

/// Appends the content of a PUT_BINARY_TYPE (3003) request.
void append_binary_type(const BinaryType& type, Bytes& out);

/// A cache of types. Thread-safe. If two threads want the same new type at once, it is fetched twice. Memory:
/// all types that were found.
class BinaryTypes {
 public:
  /// Asks the cluster for a type (GET_BINARY_TYPE). Must be thread-safe.
  using Fetch = std::function<Result<std::optional<BinaryType>>(std::int32_t type_id)>;
  explicit BinaryTypes(Fetch fetch) : fetch_(std::move(fetch)) {}

  /// The type with this schema. Fetches the type if the type or the schema is unknown here. If `schema` is
  /// none, any schema will do; a type that the cluster did not know is then not fetched again.
  /// \error kNotFound  the cluster has no such type, or its type has no such schema
  /// \error            as for `fetch`
  Result<std::shared_ptr<const BinaryType>> find(std::int32_t type_id, std::optional<std::int32_t> schema);

 private:
  Fetch fetch_;
  std::mutex mutex_;
  std::map<std::int32_t, std::shared_ptr<const BinaryType>> types_;  // guarded by mutex_
  std::set<std::int32_t> unknown_;                                   // guarded by mutex_
};

}  // namespace headrace::ignite
