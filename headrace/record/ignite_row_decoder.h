#pragma once

/// \file Decodes rows of Apache Ignite directly into the columns of a batch.

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "headrace/record/ignite_row_features.h"
#include "headrace/record/record_decoder.h"

namespace headrace {

/// Decodes records that are an encoded key followed by the encoded value, as in a page of a scan. The
/// features, and the errors about them, are those of the tf.Example that IgniteRowEncoder makes from the row.
/// Not thread-safe.
class IgniteRowDecoder final : public RecordDecoder {
 public:
  /// \error kInvalidArgument  as for `check_columns`
  static Result<std::unique_ptr<RecordDecoder>> create(std::vector<Column> columns,
                                                       std::shared_ptr<ignite::BinaryTypes> types);

  /// Drops the texts of UUIDs and decimals, and the strings of collections.
  void drop_strings() override { texts_.clear(); }

 private:
  IgniteRowDecoder(std::vector<Column> columns, std::shared_ptr<ignite::BinaryTypes> types);
  Status find_features(BytesView record) override;
  Status write(std::size_t column, const ColumnBuffer& buffer, std::size_t row) override;

  IgniteRowReader reader_;
  std::vector<const IgniteValues*> found_;  // each column's values in the current record; null: none
  std::deque<std::string> texts_;           // viewed by buffers
};

}  // namespace headrace
