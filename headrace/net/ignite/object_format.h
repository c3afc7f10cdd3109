#pragma once

/// \file The constants of Ignite's binary objects: type codes, header, flags. docs/formats/ignite-objects.md
/// explains them. Source: Ignite 2.17, GridBinaryMarshaller and BinaryUtils.

#include <cstddef>
#include <cstdint>

namespace headrace::ignite {

/// The first byte of an encoded object.
enum class TypeCode : std::uint8_t {
  kByte = 1,
  kShort = 2,
  kInt = 3,
  kLong = 4,
  kFloat = 5,
  kDouble = 6,
  kChar = 7,
  kBool = 8,
  kString = 9,
  kUuid = 10,
  kDate = 11,
  kByteArray = 12,
  kShortArray = 13,
  kIntArray = 14,
  kLongArray = 15,
  kFloatArray = 16,
  kDoubleArray = 17,
  kCharArray = 18,
  kBoolArray = 19,
  kStringArray = 20,
  kUuidArray = 21,
  kDateArray = 22,
  kObjectArray = 23,
  kCollection = 24,
  kMap = 25,
  kWrapped = 27,
  kEnum = 28,
  kEnumArray = 29,
  kDecimal = 30,
  kDecimalArray = 31,
  kClass = 32,
  kTimestamp = 33,
  kTimestampArray = 34,
  kProxy = 35,
  kTime = 36,
  kTimeArray = 37,
  kBinaryEnum = 38,
  kNull = 101,
  kHandle = 102,
  kComplex = 103,
  kJavaSerialized = 254,
};

/// How deep objects may nest. JSON forms have the same limit.
inline constexpr int kObjectDepthLimit = 64;

/// A type id that means "the name of the class follows".
inline constexpr std::int32_t kUnregisteredType = 0;
/// The type id of an array of java.lang.Object.
inline constexpr std::int32_t kAnyType = -1;

/// The header of a complex object, and the offsets of its parts, counted from the byte with the type code.
inline constexpr std::size_t kHeaderBytes = 24;
inline constexpr std::size_t kFlagsOffset = 2;
inline constexpr std::size_t kTypeIdOffset = 4;
inline constexpr std::size_t kHashCodeOffset = 8;
inline constexpr std::size_t kSizeOffset = 12;
inline constexpr std::size_t kSchemaIdOffset = 16;
inline constexpr std::size_t kFooterOffset = 20;
inline constexpr std::uint8_t kObjectVersion = 1;

enum ObjectFlag : std::uint16_t {
  kUserType = 1,
  kHasSchema = 2,
  kHasRawData = 4,
  kOneByteOffsets = 8,
  kTwoByteOffsets = 16,
  kCompactFooter = 32,
};

/// Size of a primitive, and of an element of an array of primitives. 0 for other codes.
constexpr std::size_t primitive_bytes(TypeCode code) {
  switch (code) {
    case TypeCode::kByte:
    case TypeCode::kByteArray:
    case TypeCode::kBool:
    case TypeCode::kBoolArray:
      return 1;
    case TypeCode::kShort:
    case TypeCode::kShortArray:
    case TypeCode::kChar:
    case TypeCode::kCharArray:
      return 2;
    case TypeCode::kInt:
    case TypeCode::kIntArray:
    case TypeCode::kFloat:
    case TypeCode::kFloatArray:
      return 4;
    case TypeCode::kLong:
    case TypeCode::kLongArray:
    case TypeCode::kDouble:
    case TypeCode::kDoubleArray:
      return 8;
    default:
      return 0;
  }
}

}  // namespace headrace::ignite
