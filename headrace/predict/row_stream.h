#pragma once

/// \file Raw rows from standard input or a pipe, as they come.

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "headrace/prepare/table/row_parser.h"

namespace headrace {

/// Not thread-safe. Memory: a row, and a piece of the input.
class RowStream {
 public:
  /// `descriptor` is borrowed. `url` names the rows in messages; relative URLs in them are relative to it.
  RowStream(int descriptor, std::unique_ptr<RowParser> parser, std::string url, std::stop_token stop);

  /// Waits until more has come; false at the end.
  /// \error kCancelled  stopped; kUnknown  the system's reason
  Result<bool> wait();
  /// The next of the rows that have come; none: `wait`. Valid until the next call.
  /// \error those of RowParser
  Result<std::optional<SourceRow>> next() { return parser_->next(); }

  const std::string& url() const { return url_; }
  std::uint64_t consumed_bytes() const { return consumed_bytes_; }

 private:
  const int descriptor_;
  const std::unique_ptr<RowParser> parser_;
  const std::string url_;
  const std::stop_token stop_;
  Bytes piece_;
  std::uint64_t consumed_bytes_ = 0;
  bool has_ended_ = false;
};

}  // namespace headrace
