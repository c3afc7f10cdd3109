#pragma once

/// \file The type of one value: of a feature in a record, a column of a batch, a tensor.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace headrace {

/// kBytes is a byte string of any length. Records have kFloat32, kInt64 and kBytes; columns of batches have
/// kUint8, too; tensors have all.
enum class DataType : std::uint8_t { kFloat32, kFloat64, kInt32, kInt64, kUint8, kBool, kBytes };

/// "float32", "int64", "bytes": the names that manifests and messages use. numpy's, where it has one.
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
struct DataTypeOf<bool> : std::integral_constant<DataType, DataType::kBool> {};

}  // namespace headrace
