#pragma once

/// \file Byte-order marks, which Windows programs put before a text.

#include <string>
#include <string_view>

#include "headrace/base/bytes.h"

namespace headrace {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// The message for a file that begins as UTF-16; such a file cannot be read as lines.
inline constexpr std::string_view kIsUtf16 =
    "is UTF-16, which is not read: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)";
inline bool begins_as_utf16(std::string_view text) {
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
}

/// Removes the byte-order mark of UTF-8 from a text that comes in pieces of any size. Not thread-safe.
class ByteOrderMark {
 public:
  /// Passes the piece without the mark to `use`, in one or two parts.
  template <typename Use>
  void take_off(BytesView piece, Use&& use) {
    while (!is_decided_ && !piece.empty()) {
      begin_ += static_cast<char>(piece[0]);
      piece = piece.subspan(1);
      is_decided_ = begin_ == kByteOrderMark || !kByteOrderMark.starts_with(begin_);
      if (is_decided_ && begin_ != kByteOrderMark) use(as_bytes(begin_));
    }
    if (!piece.empty()) use(piece);
  }
  /// Passes held-back bytes to `use`. Call after the last piece.
  template <typename Use>
  void finish(Use&& use) {
    if (!is_decided_ && !begin_.empty()) use(as_bytes(begin_));
    is_decided_ = true;
  }

  /// Size of the mark that was removed; 0 if there was none.
  std::size_t size_bytes() const { return begin_ == kByteOrderMark ? begin_.size() : 0; }

 private:
  std::string begin_;
  bool is_decided_ = false;
};

}  // namespace headrace
