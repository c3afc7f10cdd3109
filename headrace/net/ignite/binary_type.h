#pragma once

/// \file Types of complex objects: what the cluster knows about them, and the ids that stand for names.

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
/// The id of a schema: FNV-1a over the ids of its fields, in order, each little-endian.
std::int32_t schema_id(const std::vector<std::int32_t>& field_ids);

struct TypeField {
  std::string name;
  std::int32_t type_code = 0;
  std::int32_t id = 0;
};

/// The order of the fields in some objects of a type; a type has as many schemas as its fields had orders.
struct TypeSchema {
  std::int32_t id = 0;
  std::vector<std::size_t> fields;  // indices into BinaryType::fields
};

struct BinaryType {
  std::int32_t id = 0;
  std::string name;
  std::string affinity_field;  // empty: none
  std::vector<TypeField> fields;
  std::vector<TypeSchema> schemas;
  bool is_enum = false;
  std::vector<std::pair<std::string, std::int32_t>> enum_values;  // name, ordinal

  const TypeSchema* find_schema(std::int32_t schema) const;
  const TypeField* find_field(std::int32_t field) const;
};

/// Reads the answer to GET_BINARY_TYPE (3002); none if the cluster has no such type. Memory: at most some 10
/// times the answer.
/// \error kDataLoss  the answer is malformed
Result<std::optional<BinaryType>> read_binary_type(BytesView answer);

/// Appends the content of a request PUT_BINARY_TYPE (3003).
void append_binary_type(const BinaryType& type, Bytes& out);

/// Types that were asked for before. All functions may be called together; a type that two threads want is
/// asked for twice. Memory: what the cluster has of types.
class BinaryTypes {
 public:
  /// Asks the cluster (GET_BINARY_TYPE); called together.
  using Fetch = std::function<Result<std::optional<BinaryType>>(std::int32_t type_id)>;
  explicit BinaryTypes(Fetch fetch) : fetch_(std::move(fetch)) {}

  /// The type with this schema; asks the cluster if either is unknown here. `schema` none: any schema; a type
  /// that the cluster did not know is then not asked for again.
  /// \error kNotFound  the cluster has no such type, or its type no such schema
  /// \error *          of `fetch`
  Result<std::shared_ptr<const BinaryType>> find(std::int32_t type_id, std::optional<std::int32_t> schema);

 private:
  Fetch fetch_;
  std::mutex mutex_;
  std::map<std::int32_t, std::shared_ptr<const BinaryType>> types_;  // guarded by mutex_
  std::set<std::int32_t> unknown_;                                   // guarded by mutex_
};

}  // namespace headrace::ignite
