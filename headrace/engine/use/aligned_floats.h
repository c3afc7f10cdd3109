#pragma once

/// \file An array of floats that can grow and starts on a cache line.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

namespace headrace {

class AlignedFloats {
 public:
  AlignedFloats() = default;
  explicit AlignedFloats(std::size_t size) { reserve(size); }

  /// Makes room for `size` floats. If the array has fewer now, drops its contents and sets all floats to
  /// zero.
  void reserve(std::size_t size) {
    if (size <= size_) return;
    data_.reset(new (kCacheLine) float[size]());
    size_ = size;
  }
  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::align_val_t kCacheLine{64};
  struct Free {
    void operator()(float* data) const { ::operator delete[](data, kCacheLine); }
  };
  std::unique_ptr<float[], Free> data_;
  std::size_t size_ = 0;
};

}  // namespace headrace
