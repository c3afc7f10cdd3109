#include "bindings/python/ignite_values.h"

#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <utility>

#include "bindings/python/errors.h"
#include "headrace/base/text.h"
#include "headrace/net/ignite/object_encoder.h"
#include "headrace/net/ignite/value_text.h"

namespace headrace::python {

namespace nb = nanobind;

using ignite::TypeCode;
using ignite::Value;

namespace {

nb::object valid_text_of(std::string_view text) {
  const std::string valid = replace_invalid_utf8(text).text;
  return nb::str(valid.data(), valid.size());
}

nb::object array_of(const ignite::PrimitiveArray& array) {
  const nb::bytes bytes(array.bytes.data(), array.bytes.size());
  const char* type = nullptr;
  switch (array.code) {
    case TypeCode::kByteArray:
      return bytes;
    case TypeCode::kCharArray:
      return valid_text_of(ignite::char_array_text(array));
    case TypeCode::kBoolArray:
      type = "?";
      break;
    case TypeCode::kShortArray:
      type = "<i2";
      break;
    case TypeCode::kIntArray:
      type = "<i4";
      break;
    case TypeCode::kLongArray:
      type = "<i8";
      break;
    case TypeCode::kFloatArray:
      type = "<f4";
      break;
    default:
      type = "<f8";
      break;
  }
  return nb::module_::import_("numpy").attr("frombuffer")(bytes, type);
}

/// Makes the objects of one value, and counts them.
class PythonMaker {
 public:
  nb::object make(const ignite::Value& value) {
    if (++count_ > ignite::kJsonValueLimit) {
      raise({Code::kInvalidArgument,
             concat("the Ignite value has more than ", ignite::kJsonValueLimit, " parts")});
    }
    return std::visit([this](const auto& content) { return object_of(content); }, value);
  }

 private:
  static nb::object object_of(std::monostate) { return nb::none(); }
  static nb::object object_of(bool value) { return nb::bool_(value); }
  template <typename T>
  requires std::is_integral_v<T>
  static nb::object object_of(T value) { return nb::int_(std::int64_t{value}); }
  template <typename T>
  requires std::is_floating_point_v<T>
  static nb::object object_of(T value) { return nb::float_(double{value}); }
  static nb::object object_of(ignite::Char value) {
    return valid_text_of(ignite::utf16_text({&value.unit, 1}));
  }
  static nb::object object_of(std::string_view text) { return valid_text_of(text); }
  static nb::object object_of(const ignite::Uuid& uuid) {
    return nb::module_::import_("uuid").attr("UUID")(ignite::uuid_text(uuid).c_str());
  }
  static nb::object object_of(const ignite::Decimal& decimal) {
    return nb::module_::import_("decimal").attr("Decimal")(value_of(ignite::decimal_text(decimal)).c_str());
  }
  static nb::object object_of(ignite::Date date) { return object_of(date.milliseconds); }
  static nb::object object_of(ignite::Time time) { return object_of(time.milliseconds); }
  static nb::object object_of(ignite::Timestamp value) { return object_of(value.milliseconds); }
  static nb::object object_of(const ignite::Enum& value) { return object_of(value.ordinal); }
  static nb::object object_of(const ignite::PrimitiveArray& array) { return array_of(array); }
  static nb::object object_of(const ignite::Opaque& opaque) {
    return nb::bytes(opaque.bytes.data(), opaque.bytes.size());
  }
  static nb::object object_of(ignite::Cycle) {
    raise(
        {Code::kInvalidArgument, "an Ignite object contains itself; only trees can be converted to Python"});
  }
  nb::object object_of(const std::shared_ptr<const ignite::Group>& group) {
    if (group->code == TypeCode::kMap) return map_of(*group);
    nb::list out;
    for (const ignite::Value& value : group->values) out.append(make(value));
    return out;
  }
  nb::object map_of(const ignite::Group& group) {
    nb::dict out;
    for (std::size_t i = 0; i + 1 < group.values.size(); i += 2) {
      const nb::object key = make(group.values[i]);
      if (nb::isinstance<nb::dict>(key) || nb::isinstance<nb::list>(key) || !nb::hasattr(key, "__hash__") ||
          key.attr("__hash__").is_none()) {
        raise({Code::kInvalidArgument,
               "an Ignite map has keys that are objects or lists, which a Python dict cannot have"});
      }
      if (out.contains(key)) {
        raise({Code::kInvalidArgument,
               "an Ignite map has two keys that are equal in Python, such as an int 1, a long 1 and true"});
      }
      out[key] = make(group.values[i + 1]);
    }
    return out;
  }
  nb::object object_of(const std::shared_ptr<const ignite::ComplexObject>& object) {
    nb::dict out;
    for (const ignite::ComplexObject::Field& field : object->fields) {
      out[valid_text_of(field.name.empty() ? concat("#", field.id) : std::string(field.name))] =
          make(field.value);
    }
    if (object->has_raw_data) out["#raw"] = nb::bytes(object->raw_data.data(), object->raw_data.size());
    return out;
  }

  std::size_t count_ = 0;
};

/// The 64 bits of a half of a uuid.UUID.
std::optional<ignite::Uuid> uuid_of(nb::handle argument) {
  if (!nb::isinstance(argument, nb::module_::import_("uuid").attr("UUID"))) return std::nullopt;
  const nb::bytes bytes = nb::cast<nb::bytes>(argument.attr("bytes"));
  std::uint64_t halves[2] = {};
  for (std::size_t i = 0; i < 16; ++i)
    halves[i / 8] = halves[i / 8] << 8 | static_cast<unsigned char>(bytes.c_str()[i]);
  return ignite::Uuid{halves[0], halves[1]};
}

}  // namespace

nb::object python_of(const ignite::Value& value) { return PythonMaker().make(value); }

bool ValueMaker::make_scalar(nb::handle object, Value& value) {
  std::int64_t number = 0;
  if (nb::isinstance<nb::bool_>(object)) {
    value = nb::cast<bool>(object);
  } else if (nb::isinstance<nb::int_>(object) && nb::try_cast(object, number)) {
    value = number;
  } else if (nb::isinstance<nb::float_>(object)) {
    value = nb::cast<double>(object);
  } else if (nb::isinstance<nb::str>(object)) {
    value = std::string_view(texts_.emplace_back(nb::cast<std::string>(object)));
  } else if (nb::isinstance<nb::bytes>(object)) {
    const nb::bytes bytes = nb::cast<nb::bytes>(object);
    value = ignite::PrimitiveArray{TypeCode::kByteArray,
                                   as_bytes(texts_.emplace_back(bytes.c_str(), bytes.size()))};
  } else if (const std::optional<ignite::Uuid> uuid = uuid_of(object)) {
    value = *uuid;
  } else {
    return object.is_none();
  }
  return true;
}

Value ValueMaker::make_array(nb::handle array) {
  static constexpr std::pair<const char*, TypeCode> kTypes[] = {
      {"|b1", TypeCode::kBoolArray},  {"|i1", TypeCode::kByteArray},  {"|u1", TypeCode::kByteArray},
      {"<i2", TypeCode::kShortArray}, {"<i4", TypeCode::kIntArray},   {"<i8", TypeCode::kLongArray},
      {"<f4", TypeCode::kFloatArray}, {"<f8", TypeCode::kDoubleArray}};
  const std::string type = nb::cast<std::string>(array.attr("dtype").attr("str"));
  for (const auto& [name, code] : kTypes) {
    if (type != name || nb::cast<int>(array.attr("ndim")) != 1) continue;
    const nb::bytes bytes = nb::cast<nb::bytes>(array.attr("tobytes")());
    return ignite::PrimitiveArray{code, as_bytes(texts_.emplace_back(bytes.c_str(), bytes.size()))};
  }
  raise({Code::kInvalidArgument,
         concat("an array of dtype ", type,
                " cannot be written to Ignite; pass a one-dimensional array of bool, int8, "
                "uint8, int16, int32, int64, float32 or float64")});
}

Value ValueMaker::make_object(nb::handle fields, const std::string& type_name) {
  if (type_name.empty())
    raise({Code::kInvalidArgument,
           "a dict is written as an Ignite object; name the object's type with value_type"});
  std::vector<std::pair<std::string_view, Value>> made;
  for (const auto& [name, field] : nb::cast<nb::dict>(fields)) {
    if (!nb::isinstance<nb::str>(name))
      raise({Code::kInvalidArgument, "the name of an object's field must be a str"});
    const std::string& text = texts_.emplace_back(nb::cast<std::string>(name));
    made.emplace_back(text, make(field, concat(type_name, ".", text)));
  }
  auto object = value_of(ignite::make_object(type_name, std::move(made)));
  if (object->type) types_.push_back(object->type);
  return object;
}

Value ValueMaker::make(nb::handle object, const std::string& type_name) {
  Value value;
  if (make_scalar(object, value)) return value;
  if (++depth_ > ignite::kObjectDepthLimit)
    raise({Code::kInvalidArgument, "a value for Ignite nests too deep, or contains itself"});
  if (nb::isinstance<nb::dict>(object)) {
    value = make_object(object, type_name);
  } else if (nb::isinstance<nb::list>(object)) {
    auto group = std::make_shared<ignite::Group>();
    for (const nb::handle element : nb::cast<nb::list>(object))
      group->values.push_back(make(element, type_name));
    value = std::shared_ptr<const ignite::Group>(std::move(group));
  } else if (nb::hasattr(object, "dtype") && nb::hasattr(object, "tobytes")) {
    value = make_array(object);
  } else {
    raise({Code::kInvalidArgument,
           concat("a value for Ignite has the type ", nb::repr(nb::handle(object.type())).c_str(),
                  "; pass None, bool, int of 64 bits, float, str, bytes, uuid.UUID, a numpy array, a list "
                  "or a dict")});
  }
  --depth_;
  return value;
}

Bytes ValueMaker::encoded(nb::handle object, const std::string& type_name) {
  texts_.clear();
  depth_ = 0;
  const Value value = make(object, type_name);
  Bytes out;
  check(ignite::append_object(value, {}, out));
  return out;
}

std::vector<std::shared_ptr<const ignite::BinaryType>> ValueMaker::take_types() {
  return std::exchange(types_, {});
}

Bytes encoded_argument(nb::handle argument) { return ValueMaker().encoded(argument, ""); }

}  // namespace headrace::python
