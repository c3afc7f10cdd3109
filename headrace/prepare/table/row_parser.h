#pragma once

/// \file Turns the bytes of files into rows, one file after another, for all file formats.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/codec/archive/archive_input.h"
#include "headrace/prepare/row/row_source.h"
#include "headrace/prepare/row/source_file.h"

namespace headrace {

/// Why a row is rejected: a short phrase that is the same for all cases of one kind, and the detail.
struct RowProblem {
  std::string reason;
  std::string detail;
};

/// Produces rows from the bytes of one file after another. The rows depend only on the bytes, not on how the
/// bytes were cut into pieces. Not thread-safe.
class RowParser {
 public:
  virtual ~RowParser() = default;

  /// The following pieces belong to another file. `where` names the file in messages, `name` in ids.
  virtual void begin_file(std::string_view where, std::string_view name, std::uint32_t number) = 0;
  virtual void feed(BytesView piece) = 0;
  /// Call after the last piece of the file.
  virtual void end_file() = 0;

  /// The next row, valid until the next call of any function. nullopt: feed more, or it is the file's end.
  /// \error kInvalidArgument  the file does not have the format, or does not match the files before
  virtual Result<std::optional<SourceRow>> next() = 0;
};

/// Reads the files through the parser. Opens each file only when its rows are needed.
std::unique_ptr<RowSource> read_files(std::vector<SourceFile> files, CompressionOfHead compression_of_head,
                                      std::unique_ptr<RowParser> parser);

/// Builds ids like "<file>@<number>" without allocating each time.
class RowId {
 public:
  void begin_file(std::string_view name);
  /// Valid until the next call of any function.
  std::string_view of(std::uint64_t number);

 private:
  std::string text_;
  std::size_t file_bytes_ = 0;
};

}  // namespace headrace
