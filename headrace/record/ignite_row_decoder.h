#pragma once

/// \file Decodes rows of Apache Ignite straight into the columns of a batch.

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "headrace/record/ignite_row_features.h"
#include "headrace/record/record_decoder.h"

namespace headrace {

/// A record is an encoded key with the encoded value behind it, as a page of a scan has them. Its features,
/// and the errors about them, are those of the tf.Example that IgniteRowEncoder makes of the row.
class IgniteRowDecoder final : public RecordDecoder {
 public:
  /// \error kInvalidArgument  of check_columns
  static Result<std::unique_ptr<RecordDecoder>> create(std::vector<Column> columns,
                                                       std::shared_ptr<ignite::BinaryTypes> types);

  /// Texts that stand for a UUID or a decimal, and the strings of a collection.
  void drop_strings() override { texts_.clear(); }

 private:
  IgniteRowDecoder(std::vector<Column> columns, std::shared_ptr<ignite::BinaryTypes> types);
  Status find_features(BytesView record) override;
  Status write(std::size_t column, const ColumnBuffer& buffer, std::size_t row) override;

  IgniteRowReader reader_;
  std::vector<const IgniteValues*> found_;  // per column, of the current record; null: none
  std::deque<std::string> texts_;           // that buffers view
};

}  // namespace headrace
