#pragma once

/// \file Raw rows from standard input or a pipe, as they arrive.

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "headrace/prepare/table/row_parser.h"

namespace headrace {

/// Not thread-safe. Memory: a row, and a piece of 256 KiB.
class RowStream {
 public:
  /// Borrows `descriptor`. `url` names the rows in messages; relative URLs in the rows are relative to it.
  RowStream(int descriptor, std::unique_ptr<RowParser> parser, std::string url, std::stop_token stop);

  /// Waits until more data have come; false at the end.
  /// \error kCancelled  `stop` was requested
  /// \error kUnknown    the read failed, for the reason that the system gives
  Result<bool> wait();
  /// The next of the rows that have come; nullopt: call `wait`. The row is valid until the next call.
  /// \error of RowParser
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
