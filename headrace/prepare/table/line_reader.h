#pragma once

/// \file Text to lines, of which none is held that is too long.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/base/bytes.h"

namespace headrace {

struct Line {
  std::string_view text{};         // without its end, LF; empty if it is too long
  std::uint64_t number = 0;        // 1 is the first
  std::uint64_t offset_bytes = 0;  // where it begins
  bool is_too_long = false;
};

/// Fed with pieces of the text, cut anywhere, as CsvReader is. The last line needs no end. Memory: a piece,
/// and a line of at most the limit. One thread at a time.
class LineReader {
 public:
  explicit LineReader(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  void feed(BytesView piece);
  /// There is nothing more.
  void finish() { is_finished_ = true; }
  /// The next one, valid until the next call of anything; none if more has to be fed, or at the end.
  std::optional<Line> next();

 private:
  std::uint64_t limit_bytes_;
  std::string buffer_;
  std::uint64_t buffer_offset_bytes_ = 0;  // in the text
  std::size_t begin_ = 0;                  // of the line, in the buffer
  std::size_t at_ = 0;                     // what is before was looked at
  std::uint64_t forgotten_bytes_ = 0;      // of the line, since it is too long
  std::uint64_t lines_ = 0;
  bool is_finished_ = false;
};

}  // namespace headrace
