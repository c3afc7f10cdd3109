#pragma once

/// \file The type of one value: in a feature of a record, a column of a batch, or a tensor.

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace headrace {

/// kBytes is a byte string of any length. Records use kFloat32, kInt64 and kBytes; columns of batches use
/// kUint8 as well; tensors use every type. A value of four or two bits takes one byte. TensorFlow's quantized
/// types (kQ…) are integers of the width in their name.
enum class DataType : std::uint8_t {
  kFloat32,
  kFloat64,
  kInt32,
  kInt64,
  kUint8,
  kBool,
  kBytes,
  kFloat16,
  kBfloat16,
  kInt8,
  kInt16,
  kUint16,
  kUint32,
  kUint64,
  kComplex64,
  kComplex128,
  kQint8,
  kQint16,
  kQint32,
  kQuint8,
  kQuint16,
  kFloat8E5m2,
  kFloat8E4m3fn,
  kFloat8E4m3fnuz,
  kFloat8E4m3b11fnuz,
  kFloat8E5m2fnuz,
  kInt2,
  kInt4,
  kUint2,
  kUint4,
};

/// The number of types. Their values are 0 … kDataTypes − 1.
inline constexpr std::size_t kDataTypes = static_cast<std::size_t>(DataType::kUint4) + 1;

/// The name that manifests and messages use: "float32", "int64", "bytes". It is numpy's name if numpy has the
/// type; otherwise the name in the Python package ml_dtypes, or TensorFlow's.
std::string_view data_type_name(DataType type);
/// Bytes of one value; 0 for kBytes.
std::size_t data_type_size_bytes(DataType type);

template <typename T>
struct DataTypeOf;
template <>
struct DataTypeOf<float> : std::integral_constant<DataType, DataType::kFloat32> {};
template <>
struct DataTypeOf<double> : std::integral_constant<DataType, DataType::kFloat64> {};
template <>
struct DataTypeOf<std::int32_t> : std::integral_constant<DataType, DataType::kInt32> {};
template <>
struct DataTypeOf<std::int64_t> : std::integral_constant<DataType, DataType::kInt64> {};
template <>
struct DataTypeOf<std::uint8_t> : std::integral_constant<DataType, DataType::kUint8> {};
template <>
struct DataTypeOf<std::int8_t> : std::integral_constant<DataType, DataType::kInt8> {};
template <>
struct DataTypeOf<std::int16_t> : std::integral_constant<DataType, DataType::kInt16> {};
template <>
struct DataTypeOf<std::uint16_t> : std::integral_constant<DataType, DataType::kUint16> {};
template <>
struct DataTypeOf<std::uint32_t> : std::integral_constant<DataType, DataType::kUint32> {};
template <>
struct DataTypeOf<std::uint64_t> : std::integral_constant<DataType, DataType::kUint64> {};
template <>
struct DataTypeOf<std::complex<float>> : std::integral_constant<DataType, DataType::kComplex64> {};
template <>
struct DataTypeOf<std::complex<double>> : std::integral_constant<DataType, DataType::kComplex128> {};
template <>
struct DataTypeOf<bool> : std::integral_constant<DataType, DataType::kBool> {};

}  // namespace headrace
