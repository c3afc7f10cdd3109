#include "bindings/python/ignite_values.h"

#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "bindings/python/errors.h"
#include "headrace/base/text.h"
#include "headrace/net/ignite/object_encoder.h"
#include "headrace/net/ignite/value_text.h"

namespace headrace::python {

namespace nb = nanobind;

namespace {

using ignite::TypeCode;

nb::object text_of(std::string_view text) {
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
      return text_of(ignite::char_array_text(array));
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
  static nb::object object_of(ignite::Char value) { return text_of(ignite::utf16_text({&value.unit, 1})); }
  static nb::object object_of(std::string_view text) { return text_of(text); }
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
    raise({Code::kInvalidArgument, "an Ignite object contains itself; Python gets trees only"});
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
               "an Ignite map has keys that are objects or lists; Python's dict does not"});
      }
      if (out.contains(key)) {
        raise({Code::kInvalidArgument,
               "an Ignite map has two keys that are one in Python, as 1 of an int and of a long, or true"});
      }
      out[key] = make(group.values[i + 1]);
    }
    return out;
  }
  nb::object object_of(const std::shared_ptr<const ignite::ComplexObject>& object) {
    nb::dict out;
    for (const ignite::ComplexObject::Field& field : object->fields) {
      out[text_of(field.name.empty() ? concat("#", field.id) : std::string(field.name))] = make(field.value);
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

Bytes encoded_argument(nb::handle argument) {
  ignite::Value value;
  std::string text;
  std::int64_t number = 0;
  if (nb::isinstance<nb::bool_>(argument)) {
    value = nb::cast<bool>(argument);
  } else if (nb::isinstance<nb::int_>(argument) && nb::try_cast(argument, number)) {
    value = number;
  } else if (nb::isinstance<nb::float_>(argument)) {
    value = nb::cast<double>(argument);
  } else if (nb::isinstance<nb::str>(argument)) {
    text = nb::cast<std::string>(argument);
    value = std::string_view(text);
  } else if (nb::isinstance<nb::bytes>(argument)) {
    const nb::bytes bytes = nb::cast<nb::bytes>(argument);
    text.assign(bytes.c_str(), bytes.size());
    value = ignite::PrimitiveArray{TypeCode::kByteArray, as_bytes(text)};
  } else if (const std::optional<ignite::Uuid> uuid = uuid_of(argument)) {
    value = *uuid;
  } else if (!argument.is_none()) {
    raise({Code::kInvalidArgument,
           concat("an argument of a query is ", nb::repr(nb::handle(argument.type())).c_str(),
                  "; give None, bool, int of 64 bits, float, str, bytes or uuid.UUID")});
  }
  Bytes out;
  check(ignite::append_object(value, {}, out));
  return out;
}

}  // namespace headrace::python
