#pragma once

/// \file Decodes selected features of records straight into the columns of a batch.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/record/column.h"

namespace headrace {

/// Whether an error of RecordDecoder::decode is about the record, so that others can be decoded.
bool is_error_of_record(Code code);

/// Compiled once from the columns, then used for millions of records of one form. Not thread-safe: it
/// remembers the order of names in the last record, to find a name by one comparison.
class RecordDecoder {
 public:
  virtual ~RecordDecoder() = default;

  const std::vector<Column>& columns() const { return columns_; }

  /// Decodes one record into row `row` of `buffers`, one for each column and of its type. No allocation but
  /// what ragged columns and strings that a record does not hold as such grow by. After an error, the row's
  /// fixed values are unspecified and ragged columns are as before.
  /// \error kDataLoss         not a record of this form
  /// \error kInvalidArgument  a feature is absent, of another type or another length: names the column, what
  ///                          is wanted and what was found; or a buffer that does not fit its column
  /// \error *                 of the form: about the record or not, as is_error_of_record says
  Status decode(BytesView record, std::span<const ColumnBuffer> buffers, std::size_t row);

  /// Ends the life of strings in buffers that neither the records nor defaults hold.
  virtual void drop_strings() {}

 protected:
  static constexpr int kNoColumn = -1;

  /// REQUIRES: check_columns
  explicit RecordDecoder(std::vector<Column> columns);
  RecordDecoder(const RecordDecoder&) = default;
  RecordDecoder(RecordDecoder&&) = default;
  RecordDecoder& operator=(const RecordDecoder&) = default;
  RecordDecoder& operator=(RecordDecoder&&) = default;

  /// The column of a feature, the `place`th of its record; kNoColumn: none.
  int column_of(std::string_view name, std::size_t place);

 private:
  /// Notes where the record has the features of the columns.
  virtual Status find_features(BytesView record) = 0;
  /// Writes what find_features has noted of a column, or fill_missing.
  virtual Status write(std::size_t column, const ColumnBuffer& buffer, std::size_t row) = 0;
  Status write_columns(std::span<const ColumnBuffer> buffers, std::size_t row);

  std::vector<Column> columns_;
  std::vector<int> by_name_;                           // indexes of columns_, ascending by name
  std::vector<std::pair<std::string, int>> expected_;  // name at each place of the last record, its column
  std::vector<std::size_t> sizes_before_;              // per column; of ragged ones
};

}  // namespace headrace
