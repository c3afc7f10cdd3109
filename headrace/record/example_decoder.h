#pragma once

/// \file Decodes selected features of tf.Examples.

#include <optional>
#include <vector>

#include "headrace/record/example.h"
#include "headrace/record/record_decoder.h"

namespace headrace {

/// Decodes every encoding that protobuf parsers accept: packed and unpacked lists, lists in several pieces,
/// unknown fields, any order, repeated names (the last one counts). Skips features that are not selected,
/// without validating them. Ragged columns grow by at most 16 times the record. Not thread-safe: copy it for
/// each thread.
class ExampleDecoder final : public RecordDecoder {
 public:
  /// \error kInvalidArgument  as for `check_columns`
  static Result<ExampleDecoder> create(std::vector<Column> columns);

 private:
  explicit ExampleDecoder(std::vector<Column> columns);
  Status find_features(BytesView record) override;
  Status write(std::size_t column, const ColumnBuffer& buffer, std::size_t row) override;

  std::vector<std::optional<BytesView>> found_;  // each column's feature in the current record
};

}  // namespace headrace
