#pragma once

/// \file The value of a record by which a window is arranged: its class, or how many values a feature has.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/stream/arrangement.h"
#include "headrace/stream/dataset.h"

namespace headrace {

/// The arrangement of a published dataset by the feature `name`.
/// \error kInvalidArgument  the dataset has no such feature (the nearest is suggested), or cannot be arranged
///                          by it
Result<WindowArrangement> find_arrangement(const Dataset& dataset, ArrangementKind kind,
                                           const std::string& name);

/// Whether the dataset can be arranged so. Without a manifest, only its records tell.
/// \error kInvalidArgument  balance by a feature that is no class: neither one int64 nor a one-hot label;
///                          bucket by one that is not ragged; or the schema has it with another type or not
///                          at all
Status check_arrangement(const Dataset& dataset, const WindowArrangement& arrangement);

/// The features that have to be made of a tar's samples: `columns`, and besides the arrangement's; none: all.
std::vector<Column> columns_to_load(std::vector<Column> columns, const WindowArrangement& arrangement);

/// Reads the values of a dataset's records. One thread at a time; each thread has its own.
class ValueReader {
 public:
  /// Borrows the dataset. REQUIRES: check_arrangement
  static Result<ValueReader> create(const Dataset& dataset, CorruptionPolicy policy,
                                    const WindowArrangement& arrangement);

  /// The value of record `record` of the shard. A record that lacks the feature has the length 0 and no
  /// class. kNoValue: it has none, or cannot be read; take_remarks tells why.
  /// \error kDataLoss, kInvalidArgument  the same, under CorruptionPolicy::kFail; names the record
  Result<std::int64_t> read(std::uint32_t shard, std::uint64_t record, BytesView data);

  /// Remarks since the last call; for people.
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
  // The feature's values in the last record, in the one of its type.
  std::vector<float> floats_;
  std::vector<std::int64_t> integers_;
  std::vector<BytesView> strings_;
  std::vector<std::string> remarks_;
};

}  // namespace headrace
