#pragma once

/// \file Tensors of an engine. Inputs are views of the caller's memory; outputs own their memory. The layout
/// is DLPack's (https://dmlc.github.io/dlpack, dense, row-major, on the CPU), without its types.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "headrace/base/data_type.h"

namespace headrace {

/// The sizes of a tensor's dimensions, held without an allocation. Rank 0 is a scalar. In a signature, −1
/// means any size.
class Shape {
 public:
  static constexpr std::size_t kRankMax = 8;

  Shape() = default;
  /// REQUIRES: at most kRankMax sizes
  Shape(std::initializer_list<std::int64_t> sizes) : Shape(std::span(sizes.begin(), sizes.size())) {}
  explicit Shape(std::span<const std::int64_t> sizes);

  std::span<const std::int64_t> sizes() const { return {sizes_.data(), rank_}; }
  std::size_t rank() const { return rank_; }
  std::int64_t operator[](std::size_t dimension) const { return sizes_[dimension]; }
  /// The product of the sizes; 1 for a scalar. REQUIRES: no size is −1
  std::uint64_t elements() const;
  /// "[128, 512]"; −1 is written as "?".
  std::string text() const;
  /// True if `actual` equals this shape, where a −1 in this shape stands for any size.
  bool accepts(const Shape& actual) const;
  bool operator==(const Shape& other) const;

 private:
  std::array<std::int64_t, kRankMax> sizes_{};
  std::size_t rank_ = 0;
};

/// Engines use memory with this alignment, in bytes, in place; they copy other memory.
inline constexpr std::size_t kTensorAlignment = 64;

/// A borrowed tensor. The memory's owner keeps it unchanged while an engine reads it.
struct TensorView {
  DataType type = DataType::kFloat32;
  Shape shape{};
  const void* data = nullptr;
  /// The elements if `type` is kBytes; `data` is not used then.
  std::span<const std::string_view> strings{};

  template <typename T>
  static TensorView of(const T* data, const Shape& shape) {
    return {DataTypeOf<T>::value, shape, data, {}};
  }
  static TensorView of(std::span<const std::string_view> strings, const Shape& shape) {
    return {DataType::kBytes, shape, nullptr, strings};
  }
};

/// A tensor that owns its memory, from any engine. Movable, not copyable. Many threads may read it at once.
class Tensor {
 public:
  Tensor() = default;
  /// `owner` keeps `data` alive for as long as the tensor exists.
  Tensor(DataType type, const Shape& shape, const void* data, std::shared_ptr<const void> owner)
      : type_(type), shape_(shape), data_(data), owner_(std::move(owner)) {}
  Tensor(const Shape& shape, std::vector<std::string> strings)
      : type_(DataType::kBytes),
        shape_(shape),
        strings_(std::move(strings)),
        string_views_(strings_.begin(), strings_.end()) {}
  Tensor(Tensor&&) = default;
  Tensor& operator=(Tensor&&) = default;

  DataType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  const void* data() const { return data_; }
  /// The elements in row-major order. Empty if T is not the C++ type of `type()`.
  template <typename T>
  std::span<const T> values() const {
    if (DataTypeOf<T>::value != type_ || data_ == nullptr) return {};
    return {static_cast<const T*>(data_), static_cast<std::size_t>(shape_.elements())};
  }
  const std::vector<std::string>& strings() const { return strings_; }
  /// A view that stays valid as long as this tensor exists, even after the tensor is moved.
  TensorView view() const { return {type_, shape_, data_, string_views_}; }

 private:
  DataType type_ = DataType::kFloat32;
  Shape shape_{0};
  const void* data_ = nullptr;
  std::shared_ptr<const void> owner_;
  std::vector<std::string> strings_;
  std::vector<std::string_view> string_views_;  // of strings_, whose elements do not move
};

}  // namespace headrace
