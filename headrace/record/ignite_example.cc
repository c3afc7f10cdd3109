#include "headrace/record/ignite_example.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <variant>

#include "headrace/base/text.h"
#include "headrace/net/ignite/object_decoder.h"
#include "headrace/net/ignite/value_text.h"
#include "headrace/record/example.h"

namespace headrace {
namespace {

using ignite::field_path;
using ignite::FieldPaths;
using ignite::PrimitiveArray;
using ignite::TypeCode;

using Int64s = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Texts = std::vector<std::string>;
/// Little-endian, at any alignment.
struct FloatsView {
  BytesView bytes;
};
/// The values of a feature; monostate: null. Views are of the encoded row: a float[], a byte[] or a string is
/// not copied.
using Values =
    std::variant<std::monostate, std::int64_t, float, FloatsView, BytesView, Int64s, Floats, Texts>;

template <typename T, typename Out>
Out elements(const PrimitiveArray& array) {
  Out out(array.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<typename Out::value_type>(ignite::element<T>(array, i));
  }
  return out;
}

/// The values of what is not a complex object; none if it has no form.
struct ValuesOf {
  using Made = std::optional<Values>;

  Made operator()(std::monostate) const { return Values(); }
  template <typename T>
  requires std::is_integral_v<T> Made operator()(T value) const { return std::int64_t{value}; }
  template <typename T>
  requires std::is_floating_point_v<T> Made operator()(T value) const { return static_cast<float>(value); }
  Made operator()(ignite::Char value) const { return std::int64_t{value.unit}; }
  Made operator()(std::string_view text) const { return as_bytes(text); }
  Made operator()(const ignite::Uuid& uuid) const { return Texts{ignite::uuid_text(uuid)}; }
  Made operator()(ignite::Date date) const { return std::int64_t{date.milliseconds}; }
  Made operator()(ignite::Time time) const { return std::int64_t{time.milliseconds}; }
  Made operator()(ignite::Timestamp value) const { return std::int64_t{value.milliseconds}; }
  Made operator()(const ignite::Enum& value) const { return std::int64_t{value.ordinal}; }
  Made operator()(const ignite::Decimal& decimal) const {
    Result<std::string> text = ignite::decimal_text(decimal);
    if (!text) return std::nullopt;
    return Texts{*std::move(text)};
  }
  Made operator()(const PrimitiveArray& array) const {
    switch (array.code) {
      case TypeCode::kByteArray:
        return array.bytes;
      case TypeCode::kBoolArray:
        return elements<std::uint8_t, Int64s>(array);
      case TypeCode::kCharArray:
        return elements<std::uint16_t, Int64s>(array);
      case TypeCode::kShortArray:
        return elements<std::int16_t, Int64s>(array);
      case TypeCode::kIntArray:
        return elements<std::int32_t, Int64s>(array);
      case TypeCode::kLongArray:
        return elements<std::int64_t, Int64s>(array);
      case TypeCode::kFloatArray:
        return FloatsView{array.bytes};
      default:
        return elements<double, Floats>(array);
    }
  }
  Made operator()(const ignite::Opaque&) const { return std::nullopt; }
  Made operator()(ignite::Cycle) const { return std::nullopt; }
  Made operator()(const std::shared_ptr<const ignite::ComplexObject>&) const { return std::nullopt; }
  Made operator()(const std::shared_ptr<const ignite::Group>& group) const {
    if (group->code == TypeCode::kMap) return std::nullopt;
    Values out;
    for (const ignite::Value& element : group->values) {
      if (!is_single(element)) return std::nullopt;
      const Made made = std::visit(*this, element);
      if (!made || !add(*made, out)) return std::nullopt;
    }
    return out;
  }

  static bool is_single(const ignite::Value& value) {
    return !std::holds_alternative<PrimitiveArray>(value) &&
           !std::holds_alternative<std::shared_ptr<const ignite::Group>>(value);
  }
  template <typename List>
  static bool add_to(typename List::value_type more, Values& out) {
    if (std::holds_alternative<std::monostate>(out)) out.emplace<List>();
    List* const list = std::get_if<List>(&out);
    if (list) list->push_back(std::move(more));
    return list != nullptr;
  }
  static bool add(const Values& more, Values& out) {
    if (const auto* const number = std::get_if<std::int64_t>(&more)) return add_to<Int64s>(*number, out);
    if (const auto* const number = std::get_if<float>(&more)) return add_to<Floats>(*number, out);
    if (const auto* const bytes = std::get_if<BytesView>(&more)) return add_to<Texts>(to_string(*bytes), out);
    if (const auto* const texts = std::get_if<Texts>(&more)) return add_to<Texts>(texts->front(), out);
    return false;
  }
};

struct Feature {
  std::string_view name;
  Values values;
};

struct Describe {
  const Feature& feature;

  IgniteFeature of(DataType type, std::size_t count) const {
    return {.name = std::string(feature.name), .type = type, .value_count = count};
  }
  IgniteFeature operator()(std::monostate) const { return of(DataType::kInt64, 0); }
  IgniteFeature operator()(std::int64_t) const { return of(DataType::kInt64, 1); }
  IgniteFeature operator()(const Int64s& integers) const { return of(DataType::kInt64, integers.size()); }
  IgniteFeature operator()(float) const { return of(DataType::kFloat32, 1); }
  IgniteFeature operator()(FloatsView floats) const {
    return of(DataType::kFloat32, floats.bytes.size() / sizeof(float));
  }
  IgniteFeature operator()(const Floats& floats) const { return of(DataType::kFloat32, floats.size()); }
  IgniteFeature operator()(BytesView) const { return of(DataType::kBytes, 1); }
  IgniteFeature operator()(const Texts& texts) const { return of(DataType::kBytes, texts.size()); }
};

/// Gives a feature to a builder, which borrows it.
struct AddTo {
  ExampleBuilder& builder;
  std::vector<std::vector<BytesView>>& views;
  std::string_view name;

  void operator()(std::monostate) const {}
  void operator()(const std::int64_t& integer) const { builder.add_int64s(name, {&integer, 1}); }
  void operator()(const Int64s& integers) const { builder.add_int64s(name, integers); }
  void operator()(const float& value) const { builder.add_floats(name, {&value, 1}); }
  void operator()(FloatsView floats) const { builder.add_packed_floats(name, floats.bytes); }
  void operator()(const Floats& floats) const { builder.add_floats(name, floats); }
  void operator()(BytesView bytes) const { builder.add_bytes(name, bytes); }
  void operator()(const Texts& texts) const {
    std::vector<BytesView>& list = views.emplace_back();
    for (const std::string& text : texts) list.push_back(as_bytes(text));
    builder.add_bytes_list(name, list);
  }
};

/// Collects the features of a row, and of the next one after `clear`.
class Flattener {
 public:
  /// Borrows `paths`. `formless` gets the names of fields without a form; null: they are errors.
  explicit Flattener(const FieldPaths& paths, std::vector<std::string>* formless = nullptr)
      : paths_(paths), formless_(formless) {}

  /// `name` has to live as long as the row.
  Status add(std::string_view name, const ignite::Value& value) {
    HEADRACE_CHECK(pass_by(1));
    if (const auto* const object = std::get_if<std::shared_ptr<const ignite::ComplexObject>>(&value)) {
      return add_fields(name, **object);
    }
    if (!paths_.select(name)) return {};
    std::optional<Values> values = std::visit(ValuesOf(), value);
    if (!values) {
      return refuse(name,
                    concat("the Ignite field '", printable_line(name, 200),
                           "' has no form as a feature (Ignite's type ",
                           static_cast<int>(ignite::type_code(value)), "); leave it out of the columns"));
    }
    if (std::holds_alternative<std::monostate>(*values)) return {};
    features_.push_back({name, *std::move(values)});
    return {};
  }
  /// Counts fields.
  Status pass_by(std::size_t fields) {
    fields_ += fields;
    if (fields_ <= kIgniteFieldLimit) return {};
    return Error{Code::kInvalidArgument,
                 concat("the row has more than ", kIgniteFieldLimit, " fields; select columns")};
  }

  std::vector<IgniteFeature> described() const {
    std::vector<IgniteFeature> all;
    for (const Feature& feature : features_) all.push_back(std::visit(Describe{feature}, feature.values));
    return all;
  }

  void append_to(Bytes& out) {
    std::vector<std::vector<BytesView>> views;
    for (const Feature& feature : features_) std::visit(AddTo{builder_, views, feature.name}, feature.values);
    builder_.append_to(out);
  }
  void clear() {
    features_.clear();
    names_.clear();
    fields_ = 0;
  }

 private:
  Status add_fields(std::string_view name, const ignite::ComplexObject& object) {
    if (!paths_.lead_to(name)) return {};
    for (const ignite::ComplexObject::Field& field : object.fields)
      HEADRACE_CHECK(add(names_.emplace_back(field_path(name, field.name, field.id)), field.value));
    if (!object.has_raw_data) return {};
    const std::string raw = concat(name, ".#raw");
    if (!paths_.select(raw)) return {};
    return refuse(raw, concat("the raw data of the Ignite object '", printable_line(name, 200),
                              "' has no form as a feature; select columns without it"));
  }
  Status refuse(std::string_view name, std::string why) {
    if (formless_ == nullptr) return Error{Code::kInvalidArgument, std::move(why)};
    formless_->emplace_back(name);
    return {};
  }

  const FieldPaths& paths_;
  std::vector<std::string>* const formless_;
  std::deque<std::string> names_;
  std::vector<Feature> features_;
  std::size_t fields_ = 0;
  ExampleBuilder builder_;
};

}  // namespace

Status append_ignite_row(std::span<const std::string> names, std::span<const ignite::Value> values,
                         Bytes& out) {
  const FieldPaths all({});
  Flattener flattener(all);
  for (std::size_t i = 0; i < names.size() && i < values.size(); ++i)
    HEADRACE_CHECK(flattener.add(names[i], values[i]));
  flattener.append_to(out);
  return {};
}

Status append_ignite_example(const ignite::Value& key, const ignite::Value& value,
                             const std::vector<std::string>& columns, Bytes& out) {
  const FieldPaths paths(columns);
  Flattener flattener(paths);
  HEADRACE_CHECK(flattener.add("key", key));
  HEADRACE_CHECK(flattener.add("val", value));
  flattener.append_to(out);
  return {};
}

Status append_formed_ignite_example(const ignite::Value& key, const ignite::Value& value, Bytes& out,
                                    IgniteFeatures& found) {
  const FieldPaths all({});
  std::vector<std::string> formless;
  Flattener flattener(all, &formless);
  HEADRACE_CHECK(flattener.add("key", key));
  HEADRACE_CHECK(flattener.add("val", value));
  flattener.append_to(out);
  found = {flattener.described(), std::move(formless)};
  return {};
}

class IgniteRowEncoder::Rows {
 public:
  Rows(std::vector<std::string> columns, std::shared_ptr<ignite::BinaryTypes> types)
      : paths_(std::move(columns)), types_(std::move(types)) {}

  Status append(BytesView key, BytesView value, Bytes& out) {
    formless_.clear();
    flattener_.clear();
    HEADRACE_CHECK(select(key, value) ? flatten_selected() : flatten_whole(key, value));
    flattener_.append_to(out);
    return {};
  }

 private:
  bool select(BytesView key, BytesView value) {
    selected_.fields.clear();
    selected_.passed_by = 0;
    ignite::DecodeBudget budget;
    return select(key_, key, budget) && select(value_, value, budget);
  }
  bool select(ignite::FieldLevel* level, BytesView object, ignite::DecodeBudget& budget) {
    if (level != nullptr) return ignite::select_fields(object, selector_, *level, budget, selected_);
    ++selected_.passed_by;
    return true;
  }

  Status flatten_selected() {
    HEADRACE_CHECK(flattener_.pass_by(selected_.passed_by));
    for (const ignite::SelectedFields::Field& field : selected_.fields)
      HEADRACE_CHECK(flattener_.add(field.name, field.value));
    return {};
  }
  Status flatten_whole(BytesView key, BytesView value) {
    ignite::DecodeBudget budget;
    HEADRACE_TRY(const ignite::Value decoded_key, ignite::decode_object(key, *types_, budget));
    HEADRACE_TRY(const ignite::Value decoded_value, ignite::decode_object(value, *types_, budget));
    HEADRACE_CHECK(flattener_.add("key", decoded_key));
    return flattener_.add("val", decoded_value);
  }

  const FieldPaths paths_;
  const std::shared_ptr<ignite::BinaryTypes> types_;
  ignite::FieldSelector selector_{paths_, *types_};
  ignite::FieldLevel* const key_ = selector_.level("key");
  ignite::FieldLevel* const value_ = selector_.level("val");
  ignite::SelectedFields selected_;
  std::vector<std::string> formless_;
  Flattener flattener_{paths_, &formless_};
};

IgniteRowEncoder::IgniteRowEncoder(std::vector<std::string> columns,
                                   std::shared_ptr<ignite::BinaryTypes> types)
    : rows_(std::make_unique<Rows>(std::move(columns), std::move(types))) {}
IgniteRowEncoder::~IgniteRowEncoder() = default;

Status IgniteRowEncoder::append(BytesView key, BytesView value, Bytes& out) {
  return rows_->append(key, value, out);
}

}  // namespace headrace
