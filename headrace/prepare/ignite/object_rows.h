#pragma once

/// \file Encoded objects of Ignite as rows of `prepare`.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/net/ignite/binary_type.h"
#include "headrace/net/ignite/value.h"
#include "headrace/prepare/row/row_source.h"
#include "headrace/prepare/table/record_rows.h"

namespace headrace {

/// The id of a row with this key. A text is used unchanged, another value in its JSON form
/// (docs/formats/ignite-objects.md), and several values as a JSON array.
/// \error as ignite::to_json
Result<std::string> id_of_key(const std::vector<ignite::Value>& key);

/// Makes rows one after another. Not thread-safe. Memory: a row.
class ObjectRows {
 public:
  using Values = std::vector<ignite::Value>;
  /// How a kind of rows turns decoded objects into an id, and into a tf.Example whose features are the cells.
  struct Form {
    std::function<Result<std::string>(const Values&)> id;
    std::function<Status(const Values&, Bytes&)> append_example;
  };

  ObjectRows(ignite::BinaryTypes::Fetch fetch, std::uint64_t cell_limit_bytes);

  /// Makes row `number` of the slice with that name from `objects`, which must outlive the row. The row is
  /// valid until the next call. A row that is too large, or cannot become a tf.Example, is rejected.
  /// \error of decode_object and of `form.id`
  Result<std::optional<SourceRow>> make(const std::vector<BytesView>& objects, std::uint64_t number,
                                        std::string_view slice, const Form& form);

 private:
  std::optional<SourceRow> rejected(SourceRow row, std::string reason, std::string detail);

  ignite::BinaryTypes types_;
  const std::uint64_t row_limit_bytes_;
  const std::unique_ptr<RecordRows> cells_;
  Values values_;
  Bytes example_;
  std::string id_;
};

}  // namespace headrace
