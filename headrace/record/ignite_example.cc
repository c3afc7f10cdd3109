#include "headrace/record/ignite_example.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <variant>

#include "headrace/base/text.h"
#include "headrace/net/ignite/value_text.h"
#include "headrace/record/example.h"

namespace headrace {
namespace {

using ignite::PrimitiveArray;
using ignite::TypeCode;

using Int64s = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Texts = std::vector<std::string>;
/// The values of a feature; monostate: null. A byte[] and a string are views, which nothing copies.
using Values = std::variant<std::monostate, Int64s, Floats, Texts, BytesView>;

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
  requires std::is_integral_v<T> Made operator()(T value) const { return Int64s{std::int64_t{value}}; }
  template <typename T>
  requires std::is_floating_point_v<T> Made operator()(T value) const {
    return Floats{static_cast<float>(value)};
  }
  Made operator()(ignite::Char value) const { return Int64s{value.unit}; }
  Made operator()(std::string_view text) const { return as_bytes(text); }
  Made operator()(const ignite::Uuid& uuid) const { return Texts{ignite::uuid_text(uuid)}; }
  Made operator()(ignite::Date date) const { return Int64s{date.milliseconds}; }
  Made operator()(ignite::Time time) const { return Int64s{time.milliseconds}; }
  Made operator()(ignite::Timestamp value) const { return Int64s{value.milliseconds}; }
  Made operator()(const ignite::Enum& value) const { return Int64s{value.ordinal}; }
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
        return elements<float, Floats>(array);
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
  static bool add_to(const List& more, Values& out) {
    if (std::holds_alternative<std::monostate>(out)) out.emplace<List>();
    List* const list = std::get_if<List>(&out);
    if (list) list->insert(list->end(), more.begin(), more.end());
    return list != nullptr;
  }
  static bool add(const Values& more, Values& out) {
    if (const auto* const numbers = std::get_if<Int64s>(&more)) return add_to(*numbers, out);
    if (const auto* const numbers = std::get_if<Floats>(&more)) return add_to(*numbers, out);
    if (const auto* const texts = std::get_if<Texts>(&more)) return add_to(*texts, out);
    if (const auto* const bytes = std::get_if<BytesView>(&more)) return add_to(Texts{to_string(*bytes)}, out);
    return false;
  }
};

/// Collects the features of a row.
class Flattener {
 public:
  /// `formless` gets the names of fields without a form; null: they are errors.
  explicit Flattener(const std::vector<std::string>& columns, std::vector<std::string>* formless = nullptr)
      : columns_(columns), formless_(formless) {}

  Status add(const std::string& name, const ignite::Value& value) {
    if (++fields_ > kIgniteFieldLimit) {
      return Error{Code::kInvalidArgument,
                   concat("the row has more than ", kIgniteFieldLimit, " fields; select columns")};
    }
    if (const auto* const object = std::get_if<std::shared_ptr<const ignite::ComplexObject>>(&value)) {
      return add_fields(name, **object);
    }
    if (!is_selected(name)) return {};
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

  std::vector<IgniteFeature> described() const {
    std::vector<IgniteFeature> all;
    for (const auto& [name, values] : features_) {
      if (const auto* const integers = std::get_if<Int64s>(&values))
        all.push_back({name, DataType::kInt64, integers->size()});
      if (const auto* const floats = std::get_if<Floats>(&values))
        all.push_back({name, DataType::kFloat32, floats->size()});
      if (std::holds_alternative<BytesView>(values)) all.push_back({name, DataType::kBytes, 1});
      if (const auto* const texts = std::get_if<Texts>(&values))
        all.push_back({name, DataType::kBytes, texts->size()});
    }
    return all;
  }

  void append_to(Bytes& out) const {
    ExampleBuilder builder;
    std::deque<std::vector<BytesView>> views;
    for (const auto& [name, values] : features_) {
      if (const auto* const integers = std::get_if<Int64s>(&values)) builder.add_int64s(name, *integers);
      if (const auto* const floats = std::get_if<Floats>(&values)) builder.add_floats(name, *floats);
      if (const auto* const bytes = std::get_if<BytesView>(&values)) builder.add_bytes(name, *bytes);
      if (const auto* const texts = std::get_if<Texts>(&values)) {
        std::vector<BytesView>& list = views.emplace_back();
        for (const std::string& text : *texts) list.push_back(as_bytes(text));
        builder.add_bytes_list(name, list);
      }
    }
    builder.append_to(out);
  }

 private:
  struct Feature {
    std::string name;
    Values values;
  };

  Status add_fields(const std::string& name, const ignite::ComplexObject& object) {
    if (!leads_to_column(name)) return {};
    for (const ignite::ComplexObject::Field& field : object.fields) {
      const std::string below =
          field.name.empty() ? concat(name, ".#", field.id) : concat(name, ".", field.name);
      HEADRACE_CHECK(add(below, field.value));
    }
    if (!object.has_raw_data || !is_selected(name + ".#raw")) return {};
    return refuse(name + ".#raw", concat("the raw data of the Ignite object '", printable_line(name, 200),
                                         "' has no form as a feature; select columns without it"));
  }
  Status refuse(const std::string& name, std::string why) {
    if (formless_ == nullptr) return Error{Code::kInvalidArgument, std::move(why)};
    formless_->push_back(name);
    return {};
  }

  static bool lies_below(std::string_view name, std::string_view above) {
    return name.starts_with(above) && (name.size() == above.size() || name[above.size()] == '.');
  }
  bool is_selected(std::string_view name) const {
    return columns_.empty() ||
           std::any_of(columns_.begin(), columns_.end(),
                       [name](const std::string& column) { return lies_below(name, column); });
  }
  /// Whether a column lies at `name`, above or below: what has none is not walked through.
  bool leads_to_column(std::string_view name) const {
    return is_selected(name) ||
           std::any_of(columns_.begin(), columns_.end(),
                       [name](const std::string& column) { return lies_below(column, name); });
  }

  const std::vector<std::string>& columns_;
  std::vector<std::string>* const formless_;
  std::vector<Feature> features_;
  std::size_t fields_ = 0;
};

}  // namespace

Status append_ignite_row(std::span<const std::string> names, std::span<const ignite::Value> values,
                         Bytes& out) {
  const std::vector<std::string> all;
  Flattener flattener(all);
  for (std::size_t i = 0; i < names.size() && i < values.size(); ++i)
    HEADRACE_CHECK(flattener.add(names[i], values[i]));
  flattener.append_to(out);
  return {};
}

Status append_ignite_example(const ignite::Value& key, const ignite::Value& value,
                             const std::vector<std::string>& columns, Bytes& out) {
  Flattener flattener(columns);
  HEADRACE_CHECK(flattener.add("key", key));
  HEADRACE_CHECK(flattener.add("val", value));
  flattener.append_to(out);
  return {};
}

Status append_formed_ignite_example(const ignite::Value& key, const ignite::Value& value,
                                    const std::vector<std::string>& columns, Bytes& out,
                                    IgniteFeatures* found) {
  std::vector<std::string> formless;
  Flattener flattener(columns, &formless);
  HEADRACE_CHECK(flattener.add("key", key));
  HEADRACE_CHECK(flattener.add("val", value));
  flattener.append_to(out);
  if (found != nullptr) *found = {flattener.described(), std::move(formless)};
  return {};
}

}  // namespace headrace
