#pragma once

/// \file A value of Ignite: a tree of what an encoded object holds.
///
/// Strings, arrays of primitives, decimals, class names and raw data are views: of the bytes that were
/// decoded, or of what the builder of a value keeps. Those must outlive the value; a megabyte of a byte[] is
/// not copied. Objects, arrays, collections and maps are shared and constant: two references to one object
/// are two pointers to it. Several threads may read a value together.

#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/net/ignite/binary_type.h"
#include "headrace/net/ignite/object_format.h"

namespace headrace::ignite {

/// A UTF-16 code unit.
struct Char {
  char16_t unit = 0;
};
struct Uuid {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};
/// A java.util.Date, java.sql.Time: milliseconds since 1970-01-01 UTC.
struct Date {
  std::int64_t milliseconds = 0;
};
struct Time {
  std::int64_t milliseconds = 0;
};
/// `nanoseconds` are those beyond the whole milliseconds.
struct Timestamp {
  std::int64_t milliseconds = 0;
  std::int32_t nanoseconds = 0;
};
/// `magnitude` · 10^-`scale`. `magnitude` is big-endian; the top bit of its first byte says "negative".
struct Decimal {
  std::int32_t scale = 0;
  BytesView magnitude;
};
/// A type by id; by the name of its class where the id is kUnregisteredType.
struct TypeReference {
  std::int32_t id = kAnyType;
  std::string_view class_name;
};
struct Enum {
  TypeReference type;
  std::int32_t ordinal = 0;
  TypeCode code = TypeCode::kBinaryEnum;  // or kEnum
};
/// An array of numbers, chars or bools: little-endian elements of primitive_bytes(code) each.
struct PrimitiveArray {
  TypeCode code = TypeCode::kByteArray;
  BytesView bytes;

  std::size_t size() const { return bytes.size() / primitive_bytes(code); }
};
/// The encoded object, code included, where only Java can read it: a class, a proxy, Java's serialization.
struct Opaque {
  BytesView bytes;
  bool refers_before = false;  // to an object before `bytes`: elsewhere, that would be another one
};
/// A reference to an object that it lies in. Following one would never end.
struct Cycle {};

struct Group;
struct ComplexObject;

/// monostate is null; string_view is UTF-8 as the server sent it, which may be ill-formed.
using Value =
    std::variant<std::monostate, bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, float, double,
                 Char, std::string_view, Uuid, Date, Time, Timestamp, Decimal, Enum, PrimitiveArray, Opaque,
                 Cycle, std::shared_ptr<const Group>, std::shared_ptr<const ComplexObject>>;

/// An array of other than primitives, a collection or a map (key, value, key, value, …).
struct Group {
  TypeCode code = TypeCode::kCollection;
  std::int8_t kind = 1;  // of collection or map: 1 is ArrayList, HashMap; docs/formats/ignite-objects.md
  TypeReference element_type;  // of kObjectArray and kEnumArray
  std::vector<Value> values;
};

struct ComplexObject {
  struct Field {
    std::int32_t id = 0;
    std::string_view name;  // in `type`; empty if the cluster does not know it
    Value value;
  };

  TypeReference reference;
  std::shared_ptr<const BinaryType> type;  // null if the cluster does not know it, or there are no fields
  bool user_type = true;
  std::vector<Field> fields;  // in the order of the schema
  bool has_raw_data = false;
  BytesView raw_data;              // what a class wrote without names; only the class can read it
  bool raw_refers_before = false;  // as Opaque::refers_before
};

/// The code with which a value is encoded; kComplex for null: a field that is null may hold any object.
TypeCode type_code(const Value& value);

/// A complex object of a type of these fields in this order, for writing. `object.type` is what has to be
/// registered with the cluster first (append_binary_type).
/// \error kInvalidArgument  two names have the same id, or a name is not ASCII
Result<std::shared_ptr<const ComplexObject>> make_object(
    std::string_view type_name, std::vector<std::pair<std::string_view, Value>> fields);

}  // namespace headrace::ignite
