#pragma once

/// \file Reads the value of a record by which a window is arranged: the record's class, or the number of
/// values of a feature.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/stream/arrangement.h"
#include "headrace/stream/dataset.h"

namespace headrace {

/// The arrangement of a dataset by the feature `name`. REQUIRES: the dataset has attributes.
/// \error kInvalidArgument  the dataset has no such feature (the message suggests the nearest name), or
///                          cannot be arranged by it
Result<WindowArrangement> find_arrangement(const Dataset& dataset, ArrangementKind kind,
                                           const std::string& name);

/// Checks that the dataset can be arranged in this way. For a dataset without attributes, checks only the
/// arrangement itself, because only the records could tell more.
/// \error kInvalidArgument  balance by a feature that is not a class, which is one int64 or a one-hot label;
///                          bucket by a feature that is not ragged; or the schema lacks the feature or has it
///                          with another type
Status check_arrangement(const Dataset& dataset, const WindowArrangement& arrangement);

/// The features to load for these columns: `columns` and the arrangement's feature. Empty: all features.
std::vector<Column> columns_to_load(std::vector<Column> columns, const WindowArrangement& arrangement);

/// Reads the values of a dataset's records. Not thread-safe; each thread has its own.
class ValueReader {
 public:
  /// Borrows the dataset. REQUIRES: `check_arrangement` accepts the arrangement.
  static Result<ValueReader> create(const Dataset& dataset, CorruptionPolicy policy,
                                    const WindowArrangement& arrangement);

  /// The value of a record of the shard; `data` are the record's bytes. A record that lacks the feature has
  /// the length 0, but no class. Under a policy other than kFail, returns kNoValue if the record has no value
  /// or cannot be read; `take_remarks` says why.
  /// \error kDataLoss, kInvalidArgument  under kFail, in the same cases; the message names the record
  Result<std::int64_t> read(std::uint32_t shard, std::uint64_t record, BytesView data);

  /// Returns the first hundred remarks since the last call; for people.
  std::vector<std::string> take_remarks() { return std::exchange(remarks_, {}); }

 private:
  ValueReader(const Dataset& dataset, CorruptionPolicy policy, WindowArrangement arrangement,
              ExampleDecoder decoder);
  Result<std::int64_t> value_of(BytesView data);
  Result<std::int64_t> class_in_values() const;

  const Dataset& dataset_;
  CorruptionPolicy policy_;
  WindowArrangement arrangement_;
  ExampleDecoder decoder_;
  // The feature's values in the last record; only the vector of its type is used.
  std::vector<float> floats_;
  std::vector<std::int64_t> integers_;
  std::vector<BytesView> strings_;
  std::vector<std::string> remarks_;
};

}  // namespace headrace
