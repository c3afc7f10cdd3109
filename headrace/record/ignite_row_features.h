#pragma once

/// \file The features of a row of Apache Ignite (ignite_example.h), before they are written anywhere.

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/net/ignite/field_selector.h"
#include "headrace/net/ignite/object_decoder.h"

namespace headrace {

/// Little-endian, at any alignment.
struct IgniteFloats {
  BytesView bytes;

  std::size_t size() const { return bytes.size() / sizeof(float); }
};

/// The values of a feature; monostate: null. Views are of the encoded row: a float[], a byte[] or a string is
/// not copied.
using IgniteValues = std::variant<std::monostate, std::int64_t, float, IgniteFloats, BytesView,
                                  std::vector<std::int64_t>, std::vector<float>, std::vector<std::string>>;

struct IgniteRowFeature {
  std::string_view name;
  IgniteValues values;
};

/// Collects the features of a row, and of the next one after `clear`. Not thread-safe.
class IgniteFlattener {
 public:
  /// Borrows `paths`. `formless` gets the names of fields without a form; null: they are errors.
  explicit IgniteFlattener(const ignite::FieldPaths& paths, std::vector<std::string>* formless = nullptr)
      : paths_(paths), formless_(formless) {}

  /// Adds the value, or the fields of the object. `name` and `value` have to live as long as the row.
  /// \error kInvalidArgument  a field has no form; more than kIgniteFieldLimit fields
  Status add(std::string_view name, const ignite::Value& value);
  /// Counts fields that are not added.
  /// \error kInvalidArgument  more than kIgniteFieldLimit
  Status pass_by(std::size_t fields);
  std::span<const IgniteRowFeature> features() const { return features_; }
  void clear();

 private:
  Status add_fields(std::string_view name, const ignite::ComplexObject& object);
  Status refuse(std::string_view name, std::string why);

  const ignite::FieldPaths& paths_;
  std::vector<std::string>* const formless_;
  std::deque<std::string> names_;
  std::vector<IgniteRowFeature> features_;
  std::size_t fields_ = 0;
};

/// Finds the features of encoded rows. If there are columns, only the fields that they select are decoded; a
/// row with an object that ignite::select_fields refuses is decoded as a whole. Fields without a form are
/// left out, as if the row lacked them. Not thread-safe.
class IgniteRowReader {
 public:
  /// `columns` as for append_ignite_example.
  IgniteRowReader(std::vector<std::string> columns, std::shared_ptr<ignite::BinaryTypes> types);
  IgniteRowReader(const IgniteRowReader&) = delete;
  IgniteRowReader& operator=(const IgniteRowReader&) = delete;

  /// Replaces the features by those of this row, which they view. Damage beside the fields that are decoded
  /// is not noticed. Time and memory: linear in key and value; memory within a DecodeBudget.
  /// \error kInvalidArgument  more than kIgniteFieldLimit fields in the objects that columns lead to
  /// \error *                 of decode_object
  Status read(BytesView key, BytesView value);
  std::span<const IgniteRowFeature> features() const { return flattener_.features(); }

 private:
  bool select(BytesView key, BytesView value);
  bool select(ignite::FieldLevel* level, BytesView object, ignite::DecodeBudget& budget);
  Status flatten_selected();
  Status flatten_whole(BytesView key, BytesView value);

  const ignite::FieldPaths paths_;
  const std::shared_ptr<ignite::BinaryTypes> types_;
  ignite::FieldSelector selector_{paths_, *types_};
  ignite::FieldLevel* const key_ = selector_.level("key");
  ignite::FieldLevel* const value_ = selector_.level("val");
  ignite::SelectedFields selected_;
  std::vector<std::string> formless_;
  IgniteFlattener flattener_{paths_, &formless_};
};

}  // namespace headrace
