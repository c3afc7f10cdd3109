#pragma once

/// \file Rows of an Apache Ignite cache as tf.Examples.
///
/// A row is a key and a value; complex objects are flattened. The feature of a simple key is "key", that of a
/// simple value "val", that of a field "val.NAME", that of a field of an object in it "val.metadata.label".
///
///   bool, byte, short, int, long, char, enum (its ordinal)   int64
///   date, time, timestamp                                    int64, milliseconds; nanoseconds are dropped
///   float, double                                            float
///   string, UUID, decimal (as text), byte[]                  bytes, one
///   other arrays, collections of one of these kinds          a list; an empty collection is no feature
///   null                                                     no feature
///
/// A map, a list of objects or of mixed kinds, a list with a null, raw data, what only Java can read, and an
/// object that contains itself have no form.

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

/// How many fields a row may have, those in objects in it included: references can multiply them.
inline constexpr std::size_t kIgniteFieldLimit = 10'000;

/// Appends the tf.Example (unframed) of a row to `out`, which stays as it was on an error. `columns` selects
/// features: "val.metadata" itself and what lies below it; none: all. A column that a row lacks is no error.
/// Time and memory: linear in key and value.
/// \error kInvalidArgument  a feature that is selected has no form (the message names it), or there are more
///                          than kIgniteFieldLimit
Status append_ignite_example(const ignite::Value& key, const ignite::Value& value,
                             const std::vector<std::string>& columns, Bytes& out);

/// A feature of a row: how many values of which type.
struct IgniteFeature {
  std::string name;
  DataType type = DataType::kInt64;
  std::uint64_t value_count = 0;
};
/// All that a row has.
struct IgniteFeatures {
  std::vector<IgniteFeature> features;
  std::vector<std::string> formless;  // fields that have no form
};

/// The same with all features, but fields without a form are left out, as if the row lacked them. `found`
/// gets what the row has.
/// \error kInvalidArgument  more than kIgniteFieldLimit fields
Status append_formed_ignite_example(const ignite::Value& key, const ignite::Value& value, Bytes& out,
                                    IgniteFeatures& found);

/// Makes tf.Examples of encoded rows. If there are columns, only the fields that they select are decoded, but
/// for rows with an object that ignite::select_fields refuses: those are decoded as a whole. Not thread-safe.
class IgniteRowEncoder {
 public:
  /// `columns` as for append_ignite_example.
  IgniteRowEncoder(std::vector<std::string> columns, std::shared_ptr<ignite::BinaryTypes> types);
  ~IgniteRowEncoder();

  /// Appends the tf.Example (unframed) of a row to `out`, which stays as it was on an error. Fields without a
  /// form are left out, as if the row lacked them. Damage beside the fields that are decoded is not noticed.
  /// Time and memory: linear in key and value; memory within a DecodeBudget.
  /// \error kInvalidArgument  more than kIgniteFieldLimit fields in the objects that columns lead to
  /// \error *                 of decode_object
  Status append(BytesView key, BytesView value, Bytes& out);

 private:
  class Rows;
  std::unique_ptr<Rows> rows_;
};

/// Appends the tf.Example of a row of SQL, likewise: a column of a simple type is a feature of that name, and
/// a field of an object in it "COLUMN.NAME". REQUIRES: as many names as values
/// \error kInvalidArgument  as append_ignite_example
Status append_ignite_row(std::span<const std::string> names, std::span<const ignite::Value> values,
                         Bytes& out);

}  // namespace headrace
