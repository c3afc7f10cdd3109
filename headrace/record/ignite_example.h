#pragma once

/// \file Converts rows of an Apache Ignite cache to tf.Examples.
///
/// A row is a key and a value; complex objects are flattened. A simple key becomes the feature "key", and a
/// simple value the feature "val". A field becomes "val.NAME" or "key.NAME", and a field of an object in a
/// field "val.metadata.label".
///
///   bool, byte, short, int, long, char, enum (its ordinal)   int64
///   date, time, timestamp                                    int64, milliseconds; nanoseconds are dropped
///   float, double                                            float
///   string, UUID, decimal (as text), byte[]                  bytes, one value
///   other arrays, collections of one of these kinds          a list; an empty collection is no feature
///   null                                                     no feature
///
/// These have no form as a feature: a map, a list of objects or of mixed kinds, a list with a null, raw data,
/// data that only Java can read, and an object that contains itself.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/data_type.h"
#include "headrace/base/result.h"
#include "headrace/net/ignite/value.h"

namespace headrace {

/// The most fields that a row may have, including fields of nested objects. There is a limit because
/// references can multiply fields.
inline constexpr std::size_t kIgniteFieldLimit = 10'000;

/// Appends the tf.Example (unframed) of a row to `out`, which is unchanged on an error. `columns` selects
/// features: "val.metadata" selects that feature and everything below it. Empty: all features. A column that
/// the row lacks is not an error. Time and memory: linear in key and value.
/// \error kInvalidArgument  a selected feature has no form (the message names it), or there are more than
///                          kIgniteFieldLimit fields
Status append_ignite_example(const ignite::Value& key, const ignite::Value& value,
                             const std::vector<std::string>& columns, Bytes& out);

/// A feature of a row: the type and the number of its values.
struct IgniteFeature {
  std::string name;
  DataType type = DataType::kInt64;
  std::uint64_t value_count = 0;
};
/// All features of a row.
struct IgniteFeatures {
  std::vector<IgniteFeature> features;
  std::vector<std::string> unsupported;  // fields that have no form
};

/// Appends the tf.Example (unframed) of all features of a row. Leaves out fields without a form, as if the
/// row lacked them. Describes the row's features in `found`. On an error, `out` and `found` are unchanged.
/// \error kInvalidArgument  more than kIgniteFieldLimit fields
Status append_formed_ignite_example(const ignite::Value& key, const ignite::Value& value, Bytes& out,
                                    IgniteFeatures& found);

/// Converts encoded rows to tf.Examples. If there are columns, decodes only the fields that they select; a
/// row with an object that ignite::select_fields refuses is decoded whole. Not thread-safe.
class IgniteRowEncoder {
 public:
  /// `columns` is as for `append_ignite_example`.
  IgniteRowEncoder(std::vector<std::string> columns, std::shared_ptr<ignite::BinaryTypes> types);
  ~IgniteRowEncoder();

  /// Appends the tf.Example (unframed) of a row to `out`, which is unchanged on an error. Leaves out fields
  /// without a form, as if the row lacked them. Does not notice damage outside the fields that it decodes.
  /// Time and memory: linear in key and value; memory also within a DecodeBudget.
  /// \error kInvalidArgument  more than kIgniteFieldLimit fields in the objects that columns lead to
  /// \error *                 as for ignite::decode_object
  Status append(BytesView key, BytesView value, Bytes& out);

 private:
  class Rows;
  std::unique_ptr<Rows> rows_;
};

/// Appends the tf.Example (unframed) of a row of an SQL result to `out`, which is unchanged on an error. A
/// column of a simple type becomes the feature of that name, and a field of an object becomes "COLUMN.NAME".
/// REQUIRES: as many names as values.
/// \error kInvalidArgument  as for `append_ignite_example`
Status append_ignite_row(std::span<const std::string> names, std::span<const ignite::Value> values,
                         Bytes& out);

}  // namespace headrace
