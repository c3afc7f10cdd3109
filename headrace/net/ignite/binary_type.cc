#include "headrace/net/ignite/binary_type.h"

#include <algorithm>
#include <limits>

#include "headrace/base/text.h"
#include "headrace/net/ignite/message.h"
#include "headrace/net/ignite/object_cursor.h"

namespace headrace::ignite {
namespace {

/// The most fields that a type in an answer may have. No type that a person wrote has more.
constexpr std::size_t kFieldLimit = 100'000;

/// How many types are remembered that the cluster does not know.
constexpr std::size_t kUnknownLimit = 10'000;

Error no_description(std::int32_t type_id) {
  return {Code::kNotFound, concat("the Ignite cluster has no description of the type ", type_id)};
}

bool read_text(ObjectCursor& cursor, std::string& text) {
  TypeCode code{};
  BytesView bytes;
  if (!cursor.read(code)) return false;
  if (code == TypeCode::kNull) return true;
  if (code != TypeCode::kString || !cursor.take_counted(bytes)) return false;
  text = to_string(bytes);
  return true;
}

bool read_bool(ObjectCursor& cursor, bool& value) {
  std::uint8_t byte = 0;
  if (!cursor.read(byte)) return false;
  value = byte != 0;
  return true;
}

bool read_fields(ObjectCursor& cursor, BinaryType& type) {
  std::size_t count = 0;
  if (!cursor.read_count(9, count) || count > kFieldLimit) return false;
  for (std::size_t i = 0; i < count; ++i) {
    TypeField& field = type.fields.emplace_back();
    if (!read_text(cursor, field.name) || !cursor.read(field.type_code) || !cursor.read(field.id))
      return false;
  }
  std::sort(type.fields.begin(), type.fields.end(),
            [](const TypeField& a, const TypeField& b) { return a.id < b.id; });
  return true;
}

bool read_enum_values(ObjectCursor& cursor, BinaryType& type) {
  std::size_t count = 0;
  if (!read_bool(cursor, type.is_enum)) return false;
  if (!type.is_enum) return true;
  if (!cursor.read_count(5, count)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    auto& [name, ordinal] = type.enum_values.emplace_back();
    if (!read_text(cursor, name) || !cursor.read(ordinal)) return false;
  }
  return true;
}

bool read_schemas(ObjectCursor& cursor, BinaryType& type) {
  std::size_t count = 0;
  if (!cursor.read_count(8, count)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    TypeSchema& schema = type.schemas.emplace_back();
    std::size_t fields = 0;
    if (!cursor.read(schema.id) || !cursor.read_count(4, fields)) return false;
    for (std::size_t j = 0; j < fields; ++j) {
      std::int32_t id = 0;
      if (!cursor.read(id)) return false;
      const TypeField* const field = type.find_field(id);
      if (!field) return false;
      schema.fields.push_back(static_cast<std::size_t>(field - type.fields.data()));
    }
  }
  return true;
}

void append_count(std::size_t count, Bytes& out) {
  append_little_endian(out, static_cast<std::int32_t>(count));
}

}  // namespace

std::int32_t name_id(std::string_view name) { return java_hash(to_lower(name)); }

std::int32_t schema_id(const std::vector<std::int32_t>& field_ids) {
  std::uint32_t hash = 0x811C9DC5;
  for (const std::int32_t id : field_ids) {
    for (int shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ ((static_cast<std::uint32_t>(id) >> shift) & 0xFF)) * 0x01000193;
    }
  }
  return static_cast<std::int32_t>(hash);
}

const TypeSchema* BinaryType::find_schema(std::int32_t schema) const {
  const auto found = std::find_if(schemas.begin(), schemas.end(),
                                  [schema](const TypeSchema& candidate) { return candidate.id == schema; });
  return found == schemas.end() ? nullptr : &*found;
}

const TypeField* BinaryType::find_field(std::int32_t field) const {
  const auto found =
      std::lower_bound(fields.begin(), fields.end(), field,
                       [](const TypeField& candidate, std::int32_t wanted) { return candidate.id < wanted; });
  return found == fields.end() || found->id != field ? nullptr : &*found;
}

Result<std::optional<BinaryType>> read_binary_type(BytesView answer) {
  ObjectCursor cursor(answer);
  bool exists = false;
  BinaryType type;
  if (read_bool(cursor, exists) && !exists) return std::optional<BinaryType>();
  if (!exists || !cursor.read(type.id) || !read_text(cursor, type.name) ||
      !read_text(cursor, type.affinity_field) || !read_fields(cursor, type) ||
      !read_enum_values(cursor, type) || !read_schemas(cursor, type)) {
    return Error{Code::kDataLoss,
                 concat("the description of the Ignite type ", type.id, " '", printable_line(type.name, 80),
                        "' is damaged at byte ", cursor.position())};
  }
  return std::optional<BinaryType>(std::move(type));
}

void append_binary_type(const BinaryType& type, Bytes& out) {
  append_little_endian(out, type.id);
  append_string(out, type.name);
  if (type.affinity_field.empty()) {
    out.push_back(static_cast<std::byte>(TypeCode::kNull));
  } else {
    append_string(out, type.affinity_field);
  }
  append_count(type.fields.size(), out);
  for (const TypeField& field : type.fields) {
    append_string(out, field.name);
    append_little_endian(out, field.type_code);
    append_little_endian(out, field.id);
  }
  out.push_back(static_cast<std::byte>(type.is_enum));
  if (type.is_enum) {
    append_count(type.enum_values.size(), out);
    for (const auto& [name, ordinal] : type.enum_values) {
      append_string(out, name);
      append_little_endian(out, ordinal);
    }
  }
  append_count(type.schemas.size(), out);
  for (const TypeSchema& schema : type.schemas) {
    append_little_endian(out, schema.id);
    append_count(schema.fields.size(), out);
    for (const std::size_t field : schema.fields) append_little_endian(out, type.fields[field].id);
  }
}

Result<std::shared_ptr<const BinaryType>> BinaryTypes::find(std::int32_t type_id,
                                                            std::optional<std::int32_t> schema) {
  const auto fits = [schema](const BinaryType& type) { return !schema || type.find_schema(*schema); };
  {
    const std::lock_guard lock(mutex_);
    const auto found = types_.find(type_id);
    if (found != types_.end() && fits(*found->second)) return found->second;
    if (!schema && unknown_.contains(type_id)) return no_description(type_id);
  }
  HEADRACE_TRY(std::optional<BinaryType> fetched, fetch_(type_id));
  if (!fetched) {
    const std::lock_guard lock(mutex_);
    if (unknown_.size() >= kUnknownLimit) unknown_.clear();
    unknown_.insert(type_id);
    return no_description(type_id);
  }
  auto type = std::make_shared<const BinaryType>(*std::move(fetched));
  if (!fits(*type)) {
    return Error{Code::kNotFound, concat("the Ignite type '", printable_line(type->name, 80), "' (", type_id,
                                         ") has no schema ", *schema)};
  }
  const std::lock_guard lock(mutex_);
  types_[type_id] = type;
  return type;
}

}  // namespace headrace::ignite
