#include "headrace/record/ignite_row_features.h"

#include <optional>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/net/ignite/value_text.h"
#include "headrace/record/ignite_example.h"

namespace headrace {
namespace {

using ignite::PrimitiveArray;
using ignite::TypeCode;

using Int64s = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Texts = std::vector<std::string>;

template <typename T, typename Out>
Out elements(const PrimitiveArray& array) {
  Out out(array.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<typename Out::value_type>(ignite::element<T>(array, i));
  }
  return out;
}

/// The values of anything but a complex object; none if it cannot become a feature.
struct ValuesOf {
  using Made = std::optional<IgniteValues>;

  Made operator()(std::monostate) const { return IgniteValues(); }
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
        return IgniteFloats{array.bytes};
      default:
        return elements<double, Floats>(array);
    }
  }
  Made operator()(const ignite::Opaque&) const { return std::nullopt; }
  Made operator()(ignite::Cycle) const { return std::nullopt; }
  Made operator()(const std::shared_ptr<const ignite::ComplexObject>&) const { return std::nullopt; }
  Made operator()(const std::shared_ptr<const ignite::Group>& group) const {
    if (group->code == TypeCode::kMap) return std::nullopt;
    IgniteValues out;
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
  static bool add_to(typename List::value_type more, IgniteValues& out) {
    if (std::holds_alternative<std::monostate>(out)) out.emplace<List>();
    List* const list = std::get_if<List>(&out);
    if (list) list->push_back(std::move(more));
    return list != nullptr;
  }
  static bool add(const IgniteValues& more, IgniteValues& out) {
    if (const auto* const number = std::get_if<std::int64_t>(&more)) return add_to<Int64s>(*number, out);
    if (const auto* const number = std::get_if<float>(&more)) return add_to<Floats>(*number, out);
    if (const auto* const bytes = std::get_if<BytesView>(&more)) return add_to<Texts>(to_string(*bytes), out);
    if (const auto* const texts = std::get_if<Texts>(&more)) return add_to<Texts>(texts->front(), out);
    return false;
  }
};

}  // namespace

Status IgniteFlattener::add(std::string_view name, const ignite::Value& value) {
  HEADRACE_CHECK(pass_by(1));
  if (const auto* const object = std::get_if<std::shared_ptr<const ignite::ComplexObject>>(&value)) {
    return add_fields(name, **object);
  }
  if (!paths_.select(name)) return {};
  std::optional<IgniteValues> values = std::visit(ValuesOf(), value);
  if (!values) {
    return refuse(name, concat("the Ignite field '", printable_line(name, 200),
                               "' cannot become a feature (Ignite's type ",
                               static_cast<int>(ignite::type_code(value)), "); leave it out of the columns"));
  }
  if (std::holds_alternative<std::monostate>(*values)) return {};
  features_.push_back({name, *std::move(values)});
  return {};
}

Status IgniteFlattener::pass_by(std::size_t fields) {
  fields_ += fields;
  if (fields_ <= kIgniteFieldLimit) return {};
  return Error{Code::kInvalidArgument,
               concat("the row has more than ", kIgniteFieldLimit, " fields; select columns")};
}

void IgniteFlattener::clear() {
  features_.clear();
  names_.clear();
  fields_ = 0;
}

Status IgniteFlattener::add_fields(std::string_view name, const ignite::ComplexObject& object) {
  if (!paths_.lead_to(name)) return {};
  for (const ignite::ComplexObject::Field& field : object.fields)
    HEADRACE_CHECK(add(names_.emplace_back(ignite::field_path(name, field.name, field.id)), field.value));
  if (!object.has_raw_data) return {};
  const std::string raw = concat(name, ".#raw");
  if (!paths_.select(raw)) return {};
  return refuse(raw, concat("the raw data of the Ignite object '", printable_line(name, 200),
                            "' cannot become a feature; select columns without it"));
}

Status IgniteFlattener::refuse(std::string_view name, std::string why) {
  if (unsupported_ == nullptr) return Error{Code::kInvalidArgument, std::move(why)};
  unsupported_->emplace_back(name);
  return {};
}

IgniteRowReader::IgniteRowReader(std::vector<std::string> columns, std::shared_ptr<ignite::BinaryTypes> types)
    : paths_(std::move(columns)), types_(std::move(types)) {}

Status IgniteRowReader::read(BytesView key, BytesView value) {
  unsupported_.clear();
  flattener_.clear();
  return select(key, value) ? flatten_selected() : flatten_whole(key, value);
}

bool IgniteRowReader::select(BytesView key, BytesView value) {
  selected_.fields.clear();
  selected_.passed_by = 0;
  ignite::DecodeBudget budget;
  return select(key_, key, budget) && select(value_, value, budget);
}

bool IgniteRowReader::select(ignite::FieldLevel* level, BytesView object, ignite::DecodeBudget& budget) {
  if (level != nullptr) return ignite::select_fields(object, selector_, *level, budget, selected_);
  ++selected_.passed_by;
  return true;
}

Status IgniteRowReader::flatten_selected() {
  HEADRACE_CHECK(flattener_.pass_by(selected_.passed_by));
  for (const ignite::SelectedFields::Field& field : selected_.fields)
    HEADRACE_CHECK(flattener_.add(field.name, field.value));
  return {};
}

Status IgniteRowReader::flatten_whole(BytesView key, BytesView value) {
  ignite::DecodeBudget budget;
  HEADRACE_TRY(const ignite::Value decoded_key, ignite::decode_object(key, *types_, budget));
  HEADRACE_TRY(const ignite::Value decoded_value, ignite::decode_object(value, *types_, budget));
  HEADRACE_CHECK(flattener_.add("key", decoded_key));
  return flattener_.add("val", decoded_value);
}

}  // namespace headrace
