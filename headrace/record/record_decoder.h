#pragma once

/// \file Decodes selected features of records directly into the columns of a batch.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/record/column.h"

namespace headrace {

/// True if an error with this code from RecordDecoder::decode concerns only the record, so that decoding can
/// continue with other records.
bool is_error_of_record(Code code);

/// Decodes records of one form. Made once from the columns, then used for millions of records. Not
/// thread-safe: it remembers the order of names in the last record, to find a name with one comparison.
class RecordDecoder {
 public:
  virtual ~RecordDecoder() = default;

  const std::vector<Column>& columns() const { return columns_; }

  /// Decodes one record into row `row` of `buffers`, which are one for each column and of its type. Byte
  /// strings in the buffers view the record. Allocates only for ragged columns, and for strings that the
  /// record does not store as such. After an error, the row's fixed values are unspecified and ragged columns
  /// are unchanged.
  /// \error kDataLoss         not a record of this form
  /// \error kInvalidArgument  a feature is absent, or has another type or length (the message names the
  ///                          column, what is wanted and what was found); or a buffer does not fit its column
  /// \error *                 an error of the form; `is_error_of_record` says whether it concerns the record
  Status decode(BytesView record, std::span<const ColumnBuffer> buffers, std::size_t row);

  /// Drops the strings that the decoder itself holds for buffers. Strings that view records or defaults stay.
  virtual void drop_strings() {}

 protected:
  static constexpr int kNoColumn = -1;

  /// REQUIRES: check_columns(columns) succeeds.
  explicit RecordDecoder(std::vector<Column> columns);
  RecordDecoder(const RecordDecoder&) = default;
  RecordDecoder(RecordDecoder&&) = default;
  RecordDecoder& operator=(const RecordDecoder&) = default;
  RecordDecoder& operator=(RecordDecoder&&) = default;

  /// The index of the column of a feature; kNoColumn if it is not selected. `place` is the feature's position
  /// in its record, from 0.
  int column_of(std::string_view name, std::size_t place);

 private:
  /// Notes where the features of the columns lie in the record.
  virtual Status find_features(BytesView record) = 0;
  /// Writes the values that `find_features` has noted for a column, or calls `fill_missing`.
  virtual Status write(std::size_t column, const ColumnBuffer& buffer, std::size_t row) = 0;
  Status write_columns(std::span<const ColumnBuffer> buffers, std::size_t row);

  std::vector<Column> columns_;
  std::vector<int> by_name_;                           // indexes of columns_, ascending by name
  std::vector<std::pair<std::string, int>> expected_;  // at each place of the last record: name and column
  std::vector<std::size_t> sizes_before_;              // per column, for ragged ones
};

}  // namespace headrace
