#pragma once

/// \file One slice of an input, row by row.

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
  kIgnored,   // known to the format, but no row: a README, a cell of another layout
  kRejected,  // should be a row, and cannot be read as one
};

struct SourceRow {
  RowVerdict verdict = RowVerdict::kRow;
  RowPlace place{};
  /// Unique in the input, whatever slices it is cut into: a path, or "<file>@<offset>". Of what is no row:
  /// how it is called in a report.
  std::string_view id{};
  /// Of a folder whose objects are rows: the object that this is.
  std::optional<Reference> object{};
  /// Of a row. None occurs twice.
  std::span<const NamedCell> cells{};
  /// Of what is no row: a short phrase, the same for all of a kind; and what it is about.
  std::string reason{};
  std::string detail{};
};

/// Gives the same rows in the same order each time. One thread at a time. Memory: a piece of the input, and a
/// row.
class RowSource {
 public:
  virtual ~RowSource() = default;

  /// The next one, valid until the next call; none at the end.
  /// \error kFailedPrecondition  the input is not what it was when it was looked at
  /// \error kDataLoss, kInvalidArgument  what follows cannot be read: names the file and the place
  virtual Result<std::optional<SourceRow>> next() = 0;

  /// Of the slice's `size_bytes`, for progress.
  virtual std::uint64_t consumed_bytes() const = 0;
};

}  // namespace headrace
