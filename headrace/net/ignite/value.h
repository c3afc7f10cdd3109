#pragma once

/// \file A value of Ignite: the content of an encoded object, as a tree.
///
/// Strings, arrays of primitives, decimals, class names and raw data are views, so that a large byte[] is not
/// copied. They view the bytes that were decoded, or memory of the code that built the value. That memory
/// must outlive the value. Objects, arrays, collections and maps are shared and immutable: two references to
/// one object are two pointers to it. Several threads may read a value at once.

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
/// A java.util.Date, and a java.sql.Time: milliseconds since 1970-01-01 UTC.
struct Date {
  std::int64_t milliseconds = 0;
};
struct Time {
  std::int64_t milliseconds = 0;
};
/// A java.sql.Timestamp. `nanoseconds` is the part below a millisecond.
struct Timestamp {
  std::int64_t milliseconds = 0;
  std::int32_t nanoseconds = 0;
};
/// The number `magnitude` · 10^-`scale`. `magnitude` is big-endian. The top bit of its first byte is the
/// sign: 1 means negative.
struct Decimal {
  std::int32_t scale = 0;
  BytesView magnitude;
};
/// A type, identified by its id or, if that is kUnregisteredType, by the name of its class.
struct TypeReference {
  std::int32_t id = kAnyType;
  std::string_view class_name;
};
struct Enum {
  TypeReference type;
  std::int32_t ordinal = 0;
  TypeCode code = TypeCode::kBinaryEnum;  // or kEnum
};
/// An array of numbers, chars or bools. Each element is little-endian and has primitive_bytes(code).
struct PrimitiveArray {
  TypeCode code = TypeCode::kByteArray;
  BytesView bytes;

  std::size_t size() const { return bytes.size() / primitive_bytes(code); }
};
/// An encoded object, including its code, that only Java can read: a class, a proxy, or Java's serialization.
struct Opaque {
  BytesView bytes;
  bool refers_before = false;  // refers to an object before `bytes`, so the bytes cannot be moved elsewhere
};
/// A reference to an object that contains the reference. Following it would never end.
struct Cycle {};

struct Group;
struct ComplexObject;

/// monostate is null. string_view is UTF-8 as the server sent it, which may be ill-formed.
using Value =
    std::variant<std::monostate, bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, float, double,
                 Char, std::string_view, Uuid, Date, Time, Timestamp, Decimal, Enum, PrimitiveArray, Opaque,
                 Cycle, std::shared_ptr<const Group>, std::shared_ptr<const ComplexObject>>;

/// An array of objects, a collection, or a map (key, value, key, value, …).
struct Group {
  TypeCode code = TypeCode::kCollection;
  std::int8_t kind = 1;  // kind of collection or map: 1 is ArrayList, HashMap; docs/formats/ignite-objects.md
  TypeReference element_type;  // for kObjectArray and kEnumArray
  std::vector<Value> values;
};

struct ComplexObject {
  struct Field {
    std::int32_t id = 0;
    std::string_view name;  // views `type`; empty if the cluster does not know it
    Value value;
  };

  TypeReference reference;
  std::shared_ptr<const BinaryType> type;  // null: the cluster does not know it, or there are no fields
  bool user_type = true;
  std::vector<Field> fields;  // in the order of the schema
  bool has_raw_data = false;
  BytesView raw_data;              // data that the class wrote without names; only the class can read it
  bool raw_refers_before = false;  // as Opaque::refers_before
};

/// The code with which a value is encoded. kComplex for null, because a field that is null may have any type.
TypeCode type_code(const Value& value);

/// Makes a complex object for writing, whose type has these fields in this order. Register the object's
/// `type` with the cluster first (register_type).
/// \error kInvalidArgument  two names have the same id, or a name is not ASCII
Result<std::shared_ptr<const ComplexObject>> make_object(
    std::string_view type_name, std::vector<std::pair<std::string_view, Value>> fields);

}  // namespace headrace::ignite
