#pragma once

/// \file Reads lines of text from standard input as they arrive.

#include <stop_token>
#include <string>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

/// Reads lines from a file descriptor. Not thread-safe.
class TextLines {
 public:
  static constexpr std::size_t kLineLimitBytes = 16 << 20;
  static constexpr std::size_t kLinesAtOnce = 256;

  /// `descriptor` must stay open while this is used.
  TextLines(int descriptor, std::stop_token stop) : descriptor_(descriptor), stop_(std::move(stop)) {}

  /// Waits for a line, then returns it with all further lines that are already there, at most kLinesAtOnce;
  /// empty at the end of the input. A line ends at "\n" or "\r\n"; the last one may also end at the end of
  /// the input. Memory: twice the longest line.
  /// \error kResourceExhausted  a line is longer than kLineLimitBytes; kCancelled  stopped while waiting
  Result<std::vector<std::string>> next();

 private:
  bool take_line(std::string& line);
  Status read_more();

  const int descriptor_;
  const std::stop_token stop_;
  std::string buffer_;
  std::size_t searched_ = 0;  // bytes of buffer_ without a line end
  std::uint64_t lines_ = 0;   // lines returned so far
  bool at_end_ = false;
};

}  // namespace headrace
