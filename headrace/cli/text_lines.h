#pragma once

/// \file Lines of text from standard input, as they come.

#include <stop_token>
#include <string>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

/// Not thread-safe.
class TextLines {
 public:
  static constexpr std::size_t kLineLimitBytes = 16 << 20;
  static constexpr std::size_t kLinesAtOnce = 256;

  /// `descriptor` is borrowed.
  TextLines(int descriptor, std::stop_token stop) : descriptor_(descriptor), stop_(std::move(stop)) {}

  /// Waits for a line, and gives it with those that are there already, at most kLinesAtOnce; none at the end.
  /// A line ends at "\n" or "\r\n", the last one also at the end. Memory: twice the longest line.
  /// \error kResourceExhausted  a line longer than kLineLimitBytes; kCancelled  stopped while waiting
  Result<std::vector<std::string>> next();

 private:
  bool take_line(std::string& line);
  Status read_more();

  const int descriptor_;
  const std::stop_token stop_;
  std::string buffer_;
  std::size_t searched_ = 0;  // bytes of buffer_ that hold no line's end
  std::uint64_t lines_ = 0;   // given so far
  bool at_end_ = false;
};

}  // namespace headrace
