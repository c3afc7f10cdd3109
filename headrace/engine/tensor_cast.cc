#include "headrace/engine/tensor_cast.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "headrace/base/short_floats.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

template <typename T>
inline constexpr bool kIsShort = std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>;

// The converted value; none if it does not fit.
template <typename To, typename From>
std::optional<To> converted(From value) {
  if constexpr (kIsShort<From>) {
    return converted<To>(to_float(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else if constexpr (std::is_same_v<To, Float16>) {
    return to_float16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, Bfloat16>) {
    return to_bfloat16(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(value);
  } else if constexpr (std::is_same_v<From, bool>) {
    return To{value};
  } else if constexpr (std::is_integral_v<From>) {
    return std::in_range<To>(value) ? std::optional(static_cast<To>(value)) : std::nullopt;
  } else {
    return std::nullopt;
  }
}

// Calls `use` with a value of the C++ type that stands for `type`. REQUIRES: the type is castable
template <typename Use>
auto with_type(DataType type, const Use& use) {
  switch (type) {
    case DataType::kFloat32:
      return use(float{});
    case DataType::kFloat64:
      return use(double{});
    case DataType::kBool:
      return use(bool{});
    case DataType::kInt8:
      return use(std::int8_t{});
    case DataType::kInt16:
      return use(std::int16_t{});
    case DataType::kInt32:
      return use(std::int32_t{});
    case DataType::kUint8:
      return use(std::uint8_t{});
    case DataType::kUint16:
      return use(std::uint16_t{});
    case DataType::kUint32:
      return use(std::uint32_t{});
    case DataType::kUint64:
      return use(std::uint64_t{});
    case DataType::kFloat16:
      return use(Float16{});
    case DataType::kBfloat16:
      return use(Bfloat16{});
    default:
      return use(std::int64_t{});
  }
}

template <typename From>
std::string shown_value(From value) {
  if constexpr (kIsShort<From>) {
    return concat(to_float(value));
  } else {
    return concat(value);
  }
}

template <typename To, typename From>
Status cast_values(std::string_view name, const void* from, std::size_t count, DataType type, void* to) {
  for (std::size_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, static_cast<const std::byte*>(from) + i * sizeof value, sizeof value);
    const std::optional<To> made = converted<To>(value);
    if (!made)
      return Error{Code::kInvalidArgument, concat("the value ", shown_value(value), " of ", name,
                                                  " does not fit ", data_type_name(type))};
    std::memcpy(static_cast<std::byte*>(to) + i * sizeof *made, &*made, sizeof *made);
  }
  return {};
}

}  // namespace

bool is_castable(DataType type) {
  switch (type) {
    case DataType::kFloat32:
    case DataType::kFloat64:
    case DataType::kBool:
    case DataType::kInt8:
    case DataType::kInt16:
    case DataType::kInt32:
    case DataType::kInt64:
    case DataType::kUint8:
    case DataType::kUint16:
    case DataType::kUint32:
    case DataType::kUint64:
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return true;
    default:
      return false;
  }
}

Result<Tensor> cast_tensor(std::string_view name, const TensorView& from, DataType to) {
  if (!is_castable(from.type) || !is_castable(to))
    return Error{Code::kUnimplemented, concat(name, " is ", data_type_name(from.type),
                                              ", which cannot be cast to ", data_type_name(to))};
  const std::size_t count = from.shape.elements(), bytes = count * data_type_size_bytes(to);
  const std::shared_ptr<void> memory(
      ::operator new (bytes, std::align_val_t{kTensorAlignment}),
      [](void* made) { ::operator delete (made, std::align_val_t{kTensorAlignment}); });
  HEADRACE_CHECK(with_type(from.type, [&](auto source) {
    return with_type(to, [&](auto target) {
      return cast_values<decltype(target), decltype(source)>(name, from.data, count, to, memory.get());
    });
  }));
  return Tensor(to, from.shape, memory.get(), memory);
}

}  // namespace headrace
