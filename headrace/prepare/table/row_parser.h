#pragma once

/// \file What all formats of files share: files one after another, their bytes to rows.

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

/// What a row is rejected for: a short phrase, the same for all of a kind; and what it is about.
struct RowProblem {
  std::string reason;
  std::string detail;
};

/// Rows of the bytes of one file after another. What it gives depends on the bytes, not on how they were cut.
/// One thread at a time.
class RowParser {
 public:
  virtual ~RowParser() = default;

  /// From here on they are of another file. `where` names it in messages, `name` in ids.
  virtual void begin_file(std::string_view where, std::string_view name, std::uint32_t number) = 0;
  virtual void feed(BytesView piece) = 0;
  /// There is no more of the file.
  virtual void end_file() = 0;

  /// The next row, valid until the next call of anything; none if more has to be fed, or at the file's end.
  /// \error kInvalidArgument  the file is none of the format, or does not go with the ones before
  virtual Result<std::optional<SourceRow>> next() = 0;
};

/// Reads the files through the parser. No file is opened before it is needed.
std::unique_ptr<RowSource> read_files(std::vector<SourceFile> files, CompressionOfHead compression_of_head,
                                      std::unique_ptr<RowParser> parser);

/// "<file>@<number>", made without allocating each time.
class RowId {
 public:
  void begin_file(std::string_view name);
  /// Valid until the next call of anything.
  std::string_view of(std::uint64_t number);

 private:
  std::string text_;
  std::size_t file_bytes_ = 0;
};

}  // namespace headrace
