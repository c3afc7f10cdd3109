#pragma once

/// \file Splits text into lines, and keeps no line that is too long.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/base/bytes.h"

namespace headrace {

struct Line {
  std::string_view text{};         // without its LF; empty if the line is too long
  std::uint64_t number = 0;        // from 1
  std::uint64_t offset_bytes = 0;  // where the line begins
  bool is_too_long = false;
};

/// Takes pieces of the text, of any size, as CsvReader does. The last line needs no LF. Memory: a piece, and
/// a line of at most the limit. Not thread-safe.
class LineReader {
 public:
  explicit LineReader(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  void feed(BytesView piece);
  /// Call after the last piece.
  void finish() { is_finished_ = true; }
  /// The next line, valid until the next call of any function. nullopt: feed more, or it is the end.
  std::optional<Line> next();

 private:
  std::uint64_t limit_bytes_;
  std::string buffer_;
  std::uint64_t buffer_offset_bytes_ = 0;  // offset of the buffer in the text
  std::size_t begin_ = 0;                  // of the line, in the buffer
  std::size_t at_ = 0;                     // the search for the line's end has come this far
  std::uint64_t forgotten_bytes_ = 0;      // bytes dropped from a line that is too long
  std::uint64_t lines_ = 0;
  bool is_finished_ = false;
};

}  // namespace headrace
