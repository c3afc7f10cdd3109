#pragma once

/// \file Byte-order marks, which programs of Windows put before a text.

#include <string>
#include <string_view>

#include "headrace/base/bytes.h"

namespace headrace {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Of a file that begins like this, what to tell about it; its lines are no text.
inline constexpr std::string_view kIsUtf16 =
    "is UTF-16, which is not read: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)";
inline bool begins_as_utf16(std::string_view text) {
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
}

/// Takes that of UTF-8 off a text that comes in pieces, cut anywhere.
class ByteOrderMark {
 public:
  /// What is left of the piece goes to `use`, in one or two parts.
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
  /// There are no more pieces.
  template <typename Use>
  void finish(Use&& use) {
    if (!is_decided_ && !begin_.empty()) use(as_bytes(begin_));
    is_decided_ = true;
  }

  /// Of what was taken off.
  std::size_t size_bytes() const { return begin_ == kByteOrderMark ? begin_.size() : 0; }

 private:
  std::string begin_;
  bool is_decided_ = false;
};

}  // namespace headrace
