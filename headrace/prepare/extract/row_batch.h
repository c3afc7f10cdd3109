#pragma once

/// \file Rows in memory, a few hundred at a time, with the bytes to which their cells refer.

#include <cstdint>
#include <functional>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/prepare/row/reference_reader.h"
#include "headrace/prepare/schema/schema.h"
#include "headrace/prepare/sort/ordered_row.h"

namespace headrace {

/// The columns that a schema's features use, ascending. Cells of rows are in this order.
std::vector<std::string> feature_columns(const Schema& schema);

/// The positions of a feature's values among the cells of a row in a batch. First come the cells of
/// `feature_columns`; then a cell with the fetched bytes for each feature with `uri`, in the schema's order.
struct FeatureCells {
  std::vector<std::vector<std::size_t>> places;  // of each feature: one for each column, or the fetched cell
  std::vector<std::size_t> uri_columns;          // of each feature with `uri`: the cell with its URL
  std::size_t column_count = 0;
};
FeatureCells feature_cells(const Schema& schema);

struct BatchRow {
  std::uint64_t order = 0;
  std::uint64_t tie = 0;
  std::string_view id;
  std::uint32_t slice = 0;
  RowPlace place{};
  std::span<Cell> cells{};
  /// If a reference cannot be followed: the name of its column, and the error.
  std::string_view failed_column{};
  std::optional<Error> failure{};
};

/// Not thread-safe.
class RowBatch {
 public:
  /// Borrows both arguments.
  RowBatch(const Schema& schema, ReferenceReader& references);

  /// Copies the row.
  /// \error kDataLoss  the row has more or fewer cells than the schema has columns
  Status add(const OrderedRow& row, std::uint32_t slice);
  /// True if the batch should be used now: it has 256 rows, or 8 MiB with the objects to which they refer.
  bool is_full() const;
  bool is_empty() const { return rows_.empty(); }
  /// True if any row since the batch was constructed had a reference to follow.
  bool has_references() const { return has_references_; }

  /// Returns the base for relative URLs in a row of that slice and file: see base_of.
  using BaseUrl = std::function<std::string_view(std::uint32_t slice, RowPlace place)>;
  /// Replaces references by the bytes to which they refer. If one reference fails (FetchedReference), its row
  /// gets a `failure` and keeps the reference. The bytes are valid until the next call.
  /// \error as ReferenceReader::fetch
  Status follow(const BaseUrl& base);

  std::span<const BatchRow> rows() const { return rows_; }
  void clear();

 private:
  struct Followed {
    std::size_t row = 0;
    std::size_t cell = 0;    // receives the bytes
    std::size_t column = 0;  // has the reference
  };
  std::string_view copy(std::string_view text);
  void refer(std::size_t row, std::size_t cell, std::size_t column, const Reference& reference);
  void refer_to_uri(std::size_t row, std::size_t cell, std::size_t column, std::string_view base);
  void fail(BatchRow& row, std::size_t column, Error error);
  void learn_size(std::span<const FetchedReference> fetched);

  static constexpr std::uint64_t kUnknownBytes = 256 << 10;

  const std::vector<std::string> columns_;
  const FeatureCells places_;
  ReferenceReader& references_;
  std::pmr::monotonic_buffer_resource memory_;
  std::vector<BatchRow> rows_;
  std::uint64_t bytes_ = 0;
  bool has_references_ = false;
  std::uint64_t unknown_bytes_ = kUnknownBytes;  // assumed size of an object of unknown size
  std::vector<Reference> wanted_;
  std::vector<Followed> followed_;
};

/// Resolves the URL in a cell: "images/1.jpg" in the table "s3://raw/pets/t.csv" is
/// "s3://raw/pets/images/1.jpg". URLs and absolute paths are not changed.
/// \error kPermissionDenied  it names a file of this machine, but the table or its staged rows came from a
///                           store
/// \error kInvalidArgument   it is relative, but the row comes from Python
Result<std::string> resolve_url(std::string_view text, std::string_view base);

}  // namespace headrace
