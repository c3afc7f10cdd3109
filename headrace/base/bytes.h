#pragma once

/// \file Byte buffers and little-endian integers.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

using Bytes = std::vector<std::byte>;
using BytesView = std::span<const std::byte>;
using MutableBytesView = std::span<std::byte>;

/// Views the same memory as the other type; copies nothing.
inline BytesView as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string_view as_text(BytesView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline Bytes to_bytes(std::string_view text) {
  const BytesView view = as_bytes(text);
  return {view.begin(), view.end()};
}
inline std::string to_string(BytesView bytes) { return std::string(as_text(bytes)); }

inline void append(Bytes& target, BytesView source) {
  target.insert(target.end(), source.begin(), source.end());
}

/// Loads and stores a little-endian value of fixed width, at any alignment. REQUIRES: `sizeof(T)` bytes are
/// accessible. Headrace runs on little-endian machines only; record/ and stream/ rely on that when they copy
/// blocks.
template <typename T>
T load_little_endian(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <typename T>
void store_little_endian(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}
template <typename T>
void append_little_endian(Bytes& target, T value) {
  target.resize(target.size() + sizeof value);
  store_little_endian(target.data() + target.size() - sizeof value, value);
}

}  // namespace headrace
