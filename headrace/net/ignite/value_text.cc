#include "headrace/net/ignite/value_text.h"

#include <algorithm>
#include <cmath>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"

namespace headrace::ignite {
namespace {

void append_utf8(char32_t point, std::string& out) {
  if (point < 0x80) {
    out += static_cast<char>(point);
    return;
  }
  const int following = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  const unsigned lead = following == 1 ? 0xC0 : following == 2 ? 0xE0 : 0xF0;
  out += static_cast<char>(lead | (point >> (6 * following)));
  for (int i = following - 1; i >= 0; --i) out += static_cast<char>(0x80 | ((point >> (6 * i)) & 0x3F));
}

/// The digits of a big-endian number, most significant first; "0" for zero.
std::string decimal_digits(BytesView magnitude, bool negative) {
  std::vector<std::uint32_t> limbs = {0};  // base 10^9, least significant first
  for (std::size_t i = 0; i < magnitude.size(); ++i) {
    std::uint64_t carry = std::to_integer<std::uint64_t>(magnitude[i]);
    if (i == 0 && negative) carry &= 0x7F;
    for (std::uint32_t& limb : limbs) {
      carry += std::uint64_t{limb} * 256;
      limb = static_cast<std::uint32_t>(carry % 1'000'000'000);
      carry /= 1'000'000'000;
    }
    if (carry > 0) limbs.push_back(static_cast<std::uint32_t>(carry));
  }
  std::string digits = concat(limbs.back());
  for (std::size_t i = limbs.size() - 1; i-- > 0;) digits += zero_padded(limbs[i], 9);
  return digits;
}

/// Makes the JSON of values, and counts them.
class JsonMaker {
 public:
  Result<Json> make(const Value& value) {
    HEADRACE_CHECK(count(1));
    return std::visit([this](const auto& content) { return json(content); }, value);
  }

 private:
  using Made = Result<Json>;
  Status count(std::size_t more) {
    count_ += more;
    if (count_ <= kJsonValueLimit) return {};
    return Error{Code::kInvalidArgument,
                 concat("the Ignite value has more than ", kJsonValueLimit, " parts, too many to show")};
  }
  static Json floating(double value) {
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
  }
  static Json type_json(const TypeReference& type) {
    return type.id == kUnregisteredType ? Json(replace_invalid_utf8(type.class_name).text) : Json(type.id);
  }

  Made json(std::monostate) const { return Json(); }
  Made json(bool value) const { return Json(value); }
  Made json(std::int8_t value) const { return Json(int{value}); }
  Made json(std::int16_t value) const { return Json(int{value}); }
  Made json(std::int32_t value) const { return Json(value); }
  Made json(std::int64_t value) const { return Json(value); }
  Made json(float value) const { return floating(double{value}); }
  Made json(double value) const { return floating(value); }
  Made json(Char value) const { return Json(utf16_text({&value.unit, 1})); }
  Made json(std::string_view text) const { return Json(replace_invalid_utf8(text).text); }
  Made json(const Uuid& uuid) const { return Json(uuid_text(uuid)); }
  Made json(Date date) const { return Json(date.milliseconds); }
  Made json(Time time) const { return Json(time.milliseconds); }
  Made json(Timestamp value) const {
    return Json{{"milliseconds", value.milliseconds}, {"nanoseconds", value.nanoseconds}};
  }
  Made json(const Decimal& decimal) const {
    HEADRACE_TRY(std::string text, decimal_text(decimal));
    return Json(std::move(text));
  }
  Made json(const Enum& value) const {
    return Json{{"ordinal", value.ordinal}, {"type", type_json(value.type)}};
  }
  Made json(const Opaque& opaque) const { return Json{{"java", base64(opaque.bytes)}}; }
  Made json(Cycle) const { return Json{{"cycle", true}}; }

  template <typename T>
  Made numbers(const PrimitiveArray& array) {
    HEADRACE_CHECK(count(array.size()));
    Json out = Json::array();
    for (std::size_t i = 0; i < array.size(); ++i) {
      if constexpr (std::is_floating_point_v<T>) {
        out.push_back(floating(double{element<T>(array, i)}));
      } else {
        out.push_back(element<T>(array, i));
      }
    }
    return out;
  }
  Made json(const PrimitiveArray& array) {
    switch (array.code) {
      case TypeCode::kShortArray:
        return numbers<std::int16_t>(array);
      case TypeCode::kIntArray:
        return numbers<std::int32_t>(array);
      case TypeCode::kLongArray:
        return numbers<std::int64_t>(array);
      case TypeCode::kFloatArray:
        return numbers<float>(array);
      case TypeCode::kDoubleArray:
        return numbers<double>(array);
      case TypeCode::kCharArray:
        return Json(char_array_text(array));
      case TypeCode::kBoolArray:
        return bools(array);
      default:
        return Json(base64(array.bytes));
    }
  }
  Made bools(const PrimitiveArray& array) {
    HEADRACE_CHECK(count(array.size()));
    Json out = Json::array();
    for (const std::byte byte : array.bytes) out.push_back(byte != std::byte{});
    return out;
  }

  Made json(const std::shared_ptr<const Group>& group) {
    Json out = Json::array();
    for (std::size_t i = 0; i < group->values.size(); ++i) {
      HEADRACE_TRY(Json value, make(group->values[i]));
      if (group->code == TypeCode::kMap && i + 1 < group->values.size()) {
        HEADRACE_TRY(Json second, make(group->values[++i]));
        value = Json::array({std::move(value), std::move(second)});
      }
      out.push_back(std::move(value));
    }
    return out;
  }
  Made json(const std::shared_ptr<const ComplexObject>& object) {
    Json out = Json::object();
    for (const ComplexObject::Field& field : object->fields) {
      HEADRACE_TRY(Json value, make(field.value));
      out[field.name.empty() ? concat("#", field.id) : replace_invalid_utf8(field.name).text] =
          std::move(value);
    }
    if (object->has_raw_data) out["#raw"] = base64(object->raw_data);
    return out;
  }

  std::size_t count_ = 0;
};

}  // namespace

std::string uuid_text(const Uuid& uuid) {
  const std::string high = hex64(uuid.high);
  const std::string low = hex64(uuid.low);
  return concat(high.substr(0, 8), "-", high.substr(8, 4), "-", high.substr(12), "-", low.substr(0, 4), "-",
                low.substr(4));
}

Result<std::string> decimal_text(const Decimal& decimal) {
  if (decimal.magnitude.empty() || decimal.magnitude.size() > kDecimalBytesLimit) {
    return Error{Code::kInvalidArgument, concat("a decimal of ", decimal.magnitude.size(),
                                                " bytes cannot be shown; the limit is ", kDecimalBytesLimit)};
  }
  const bool negative = (decimal.magnitude[0] & std::byte{0x80}) != std::byte{};
  std::string digits = decimal_digits(decimal.magnitude, negative);
  const auto count = static_cast<std::int64_t>(digits.size());
  const std::int64_t exponent = count - 1 - std::int64_t{decimal.scale};
  if (decimal.scale > 0 && exponent >= -6) {
    if (count <= decimal.scale) digits.insert(0, static_cast<std::size_t>(decimal.scale - count + 1), '0');
    digits.insert(digits.size() - static_cast<std::size_t>(decimal.scale), 1, '.');
  } else if (decimal.scale != 0) {
    if (count > 1) digits.insert(1, 1, '.');
    if (exponent != 0) digits += concat("E", exponent > 0 ? "+" : "", exponent);
  }
  const bool zero = digits.find_first_of("123456789") == std::string::npos;
  return (negative && !zero ? "-" : "") + digits;
}

std::string utf16_text(std::u16string_view units) {
  std::string out;
  for (std::size_t i = 0; i < units.size(); ++i) {
    char32_t point = units[i];
    const bool first_half = point >= 0xD800 && point < 0xDC00;
    if (first_half && i + 1 < units.size() && units[i + 1] >= 0xDC00 && units[i + 1] < 0xE000) {
      point = 0x10000 + ((point - 0xD800) << 10) + (char32_t{units[++i]} - 0xDC00);
    } else if (point >= 0xD800 && point < 0xE000) {
      point = 0xFFFD;
    }
    append_utf8(point, out);
  }
  return out;
}

std::string char_array_text(const PrimitiveArray& array) {
  std::u16string units(array.size(), u'\0');
  for (std::size_t i = 0; i < units.size(); ++i)
    units[i] = static_cast<char16_t>(element<std::uint16_t>(array, i));
  return utf16_text(units);
}

Result<Json> to_json(const Value& value) { return JsonMaker().make(value); }

}  // namespace headrace::ignite
