#pragma once

/// \file A position in the bytes of encoded objects.

#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/net/ignite/object_format.h"

namespace headrace::ignite {

/// Reads little-endian numbers one after another. Never reads past the end: if too few bytes remain, a
/// function returns false and, except for take_name, does not move. Views the bytes, which must outlive the
/// cursor.
class ObjectCursor {
 public:
  explicit ObjectCursor(BytesView bytes, std::size_t position = 0) : bytes_(bytes), position_(position) {}

  template <typename T>
  bool read(T& value) {
    if (remaining() < sizeof value) return false;
    value = load_little_endian<T>(bytes_.data() + position_);
    position_ += sizeof value;
    return true;
  }
  bool take(std::size_t count, BytesView& taken) {
    if (remaining() < count) return false;
    taken = bytes_.subspan(position_, count);
    position_ += count;
    return true;
  }
  bool skip(std::size_t count) {
    BytesView skipped;
    return take(count, skipped);
  }
  /// Reads an int32 count of elements, each of which has at least `element_bytes`. Returns false if the count
  /// is negative or so many elements do not fit into the remaining bytes.
  bool read_count(std::size_t element_bytes, std::size_t& count) {
    std::int32_t value = 0;
    const std::size_t before = position_;
    if (!read(value)) return false;
    count = static_cast<std::size_t>(value);
    if (value >= 0 && (element_bytes == 0 || count <= remaining() / element_bytes)) return true;
    position_ = before;
    return false;
  }
  /// Reads an int32 length and that many bytes.
  bool take_counted(BytesView& taken) {
    std::size_t count = 0;
    return read_count(1, count) && take(count, taken);
  }
  /// Reads an encoded string, including its type code, as class names are written. Returns false if there is
  /// no string; the position is then unspecified.
  bool take_name(std::string_view& name) {
    TypeCode code{};
    BytesView text;
    if (!read(code) || code != TypeCode::kString || !take_counted(text)) return false;
    name = as_text(text);
    return true;
  }

  std::size_t position() const { return position_; }
  std::size_t remaining() const { return bytes_.size() - position_; }
  BytesView bytes() const { return bytes_; }

 private:
  BytesView bytes_;
  std::size_t position_;  // never beyond the end
};

}  // namespace headrace::ignite
