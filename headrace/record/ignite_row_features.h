#pragma once

/// \file Finds the features of a row of Apache Ignite (ignite_example.h), before they are written anywhere.

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

/// Views float32 values, little-endian, at any alignment.
struct IgniteFloats {
  BytesView bytes;

  std::size_t size() const { return bytes.size() / sizeof(float); }
};

/// The values of a feature; monostate: null. A float[], a byte[] or a string is not copied: it views the
/// encoded row.
using IgniteValues = std::variant<std::monostate, std::int64_t, float, IgniteFloats, BytesView,
                                  std::vector<std::int64_t>, std::vector<float>, std::vector<std::string>>;

struct IgniteRowFeature {
  std::string_view name;
  IgniteValues values;
};

/// Collects the features of one row; call `clear` before the next. Not thread-safe.
class IgniteFlattener {
 public:
  /// Borrows `paths` and `unsupported`. Appends the names of fields without a form to `unsupported`. If that
  /// is null, such fields are errors.
  explicit IgniteFlattener(const ignite::FieldPaths& paths, std::vector<std::string>* unsupported = nullptr)
      : paths_(paths), unsupported_(unsupported) {}

  /// Adds a simple value, or the fields of an object. The features view `name` and `value` until `clear`.
  /// \error kInvalidArgument  a field has no form, or there are more than kIgniteFieldLimit fields
  Status add(std::string_view name, const ignite::Value& value);
  /// Counts fields that are not added, because they count towards the limit, too.
  /// \error kInvalidArgument  more than kIgniteFieldLimit fields
  Status pass_by(std::size_t fields);
  std::span<const IgniteRowFeature> features() const { return features_; }
  void clear();

 private:
  Status add_fields(std::string_view name, const ignite::ComplexObject& object);
  Status refuse(std::string_view name, std::string why);

  const ignite::FieldPaths& paths_;
  std::vector<std::string>* const unsupported_;
  std::deque<std::string> names_;
  std::vector<IgniteRowFeature> features_;
  std::size_t fields_ = 0;
};

/// Finds the features of encoded rows. If there are columns, decodes only the fields that they select; a row
/// with an object that ignite::select_fields refuses is decoded whole. Leaves out fields without a form, as
/// if the row lacked them. Not thread-safe.
class IgniteRowReader {
 public:
  /// `columns` is as for `append_ignite_example`.
  IgniteRowReader(std::vector<std::string> columns, std::shared_ptr<ignite::BinaryTypes> types);
  IgniteRowReader(const IgniteRowReader&) = delete;
  IgniteRowReader& operator=(const IgniteRowReader&) = delete;

  /// Replaces the features by those of this row, which they view. Does not notice damage outside the fields
  /// that it decodes. Time and memory: linear in key and value; memory also within a DecodeBudget.
  /// \error kInvalidArgument  more than kIgniteFieldLimit fields in the objects that columns lead to
  /// \error *                 as for ignite::decode_object
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
  std::vector<std::string> unsupported_;
  IgniteFlattener flattener_{paths_, &unsupported_};
};

}  // namespace headrace
