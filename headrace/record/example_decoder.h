#pragma once

/// \file Decodes selected features of tf.Examples.

#include <optional>
#include <vector>

#include "headrace/record/example.h"
#include "headrace/record/record_decoder.h"

namespace headrace {

/// Accepts every encoding that protobuf parsers accept: packed and unpacked lists, lists in several pieces,
/// unknown fields, any order, repeated names (the last counts). Features that are not selected are skipped
/// and not validated. Ragged columns grow by at most 16 times the record. Copy it for each thread.
class ExampleDecoder final : public RecordDecoder {
 public:
  /// \error kInvalidArgument  of check_columns
  static Result<ExampleDecoder> create(std::vector<Column> columns);

 private:
  explicit ExampleDecoder(std::vector<Column> columns);
  Status find_features(BytesView record) override;
  Status write(std::size_t column, const ColumnBuffer& buffer, std::size_t row) override;

  std::vector<std::optional<BytesView>> found_;  // per column, of the current record
};

}  // namespace headrace
