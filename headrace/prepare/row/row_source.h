#pragma once

/// \file Reads one slice of an input, row by row.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headrace/base/result.h"
#include "headrace/prepare/row/row.h"

namespace headrace {

enum class RowVerdict : std::uint8_t {
  kRow,
  kIgnored,   // known to the format, but not a row: a README, a cell of another layout
  kRejected,  // should be a row, but cannot be read as one
};

struct SourceRow {
  RowVerdict verdict = RowVerdict::kRow;
  RowPlace place{};
  /// Unique in the input, however the input is cut into slices: a path, or "<file>@<offset>". If this is not
  /// a row: its name in reports.
  std::string_view id{};
  /// The object that holds this row; set only in a folder in which objects are rows.
  std::optional<Reference> object{};
  /// The cells, if this is a row. All names differ.
  std::span<const NamedCell> cells{};
  /// If this is not a row: a short phrase that is the same for all cases of one kind, and the detail.
  std::string reason{};
  std::string detail{};
};

/// Returns the same rows in the same order each time. Not thread-safe. Memory: a piece of the input and a
/// row.
class RowSource {
 public:
  virtual ~RowSource() = default;

  /// Returns the next row, which is valid until the next call; nullopt at the end.
  /// \error kFailedPrecondition  the input has changed since it was listed
  /// \error kDataLoss, kInvalidArgument  the rest cannot be read; names the file and the place
  virtual Result<std::optional<SourceRow>> next() = 0;

  /// How many of the slice's `size_bytes` have been read, for progress.
  virtual std::uint64_t consumed_bytes() const = 0;
};

}  // namespace headrace
