#pragma once

/// \file Rows in memory, a few hundred at a time, with the bytes that their cells refer to.

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

/// The columns that a schema's features use, ascending: cells of rows are in this order.
std::vector<std::string> feature_columns(const Schema& schema);

/// Where a feature finds its value among the cells of a batch's row: those of `feature_columns`, and after
/// them one for each feature with `uri`, in the schema's order, which holds what was fetched.
struct FeatureCells {
  std::vector<std::vector<std::size_t>> places;  // by feature; as many as it has columns, or the fetched one
  std::vector<std::size_t> uri_columns;          // of each feature with `uri`: where its cell with the URL is
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
  /// A reference that could not be followed: the column's name, and why.
  std::string_view failed_column{};
  std::optional<Error> failure{};
};

/// One thread at a time.
class RowBatch {
 public:
  /// Borrows all.
  RowBatch(const Schema& schema, ReferenceReader& references);

  /// Copies the row.
  /// \error kDataLoss  it has more or fewer cells than the schema has columns
  Status add(const OrderedRow& row, std::uint32_t slice);
  /// So many rows, or so many bytes, those that are referred to included, that it should be used.
  bool is_full() const;
  bool is_empty() const { return rows_.empty(); }
  /// Whether any row since the batch was made had something to follow.
  bool has_references() const { return has_references_; }

  /// What URLs in a cell of that slice and file are relative to: as base_of.
  using BaseUrl = std::function<std::string_view(std::uint32_t slice, RowPlace place)>;
  /// Puts bytes in the place of references. A row with one that cannot be had has a `failure`, and the
  /// reference.
  /// \error kCancelled, or what makes going on useless
  Status follow(const BaseUrl& base);

  std::span<const BatchRow> rows() const { return rows_; }
  void clear();

 private:
  struct Followed {
    std::size_t row = 0;
    std::size_t cell = 0;    // where the bytes belong
    std::size_t column = 0;  // of the cell with the reference
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
  std::uint64_t unknown_bytes_ = kUnknownBytes;  // what an object of unknown size counts as
  std::vector<Reference> wanted_;
  std::vector<Followed> followed_;
};

/// "images/1.jpg" of the table "s3://raw/pets/t.csv" is "s3://raw/pets/images/1.jpg"; URLs and absolute
/// paths are as they are.
/// \error kPermissionDenied  a table that lies in a store, or whose staged rows did, names a file of this
///   machine
/// \error kInvalidArgument   relative, of a row of Python
Result<std::string> resolve_url(std::string_view text, std::string_view base);

}  // namespace headrace
