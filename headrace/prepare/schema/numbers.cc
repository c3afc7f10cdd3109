#include "headrace/prepare/schema/numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::string_view kSeparators = " \t\r\n;,";
constexpr std::size_t kQuotedCellBytes = 40;

Error invalid(std::string_view cell, std::string_view what) {
  return {Code::kInvalidArgument, concat("\"", printable_line(cell, kQuotedCellBytes), "\" ", what)};
}

// std::from_chars takes no plus sign.
std::string_view without_plus(std::string_view text) {
  const bool has_plus = text.size() > 1 && text[0] == '+' && text[1] != '-' && text[1] != '+';
  return has_plus ? text.substr(1) : text;
}

// from_chars does not distinguish a number that is too large from a number near 0. If even long double cannot
// hold the number, the sign of the exponent decides.
Result<float> out_of_range(std::string_view cell, std::string_view digits) {
  long double wide = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), wide);
  const bool is_small =
      error == std::errc{} ? std::abs(wide) < 1 : to_lower(digits).find("e-") != digits.npos;
  if (is_small) return digits.starts_with('-') ? -0.0F : 0.0F;
  return invalid(cell, "is too large for float32");
}

template <typename Number, typename Parse>
Status parse_list(std::string_view cell, char decimal, Parse parse, std::vector<Number>& numbers) {
  std::string_view separators = kSeparators;
  if (decimal == ',') separators.remove_suffix(1);
  std::string_view rest = trim(cell);
  const bool is_bracketed = rest.size() >= 2 && ((rest.front() == '[' && rest.back() == ']') ||
                                                 (rest.front() == '(' && rest.back() == ')'));
  if (is_bracketed) rest = rest.substr(1, rest.size() - 2);
  for (std::uint64_t place = 1;; ++place) {
    const std::size_t begin = rest.find_first_not_of(separators);
    if (begin == rest.npos) return {};
    rest.remove_prefix(begin);
    const std::string_view text = rest.substr(0, rest.find_first_of(separators));
    rest.remove_prefix(text.size());
    Result<Number> number = parse(text);
    if (!number) return std::move(number).error().in(concat("number ", place, " of the list"));
    numbers.push_back(*number);
  }
}

}  // namespace

Result<std::int64_t> parse_int64(std::string_view cell) {
  const std::string_view digits = without_plus(trim(cell));
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) return invalid(cell, "is too large for int64");
  if (error != std::errc{} || end != digits.data() + digits.size())
    return invalid(cell, "is not a whole number");
  return value;
}

Result<std::int64_t> parse_whole(std::string_view cell, char decimal) {
  const std::string_view text = trim(cell);
  const std::size_t fraction = text.find(decimal);
  const bool has_zeros = fraction != text.npos && text.find_first_not_of('0', fraction + 1) == text.npos &&
                         fraction + 1 < text.size();
  if (!has_zeros) return parse_int64(cell);
  const std::string_view whole = text.substr(0, fraction);
  const bool ends_in_digit = !whole.empty() && whole.back() >= '0' && whole.back() <= '9';
  return ends_in_digit ? parse_int64(whole) : invalid(cell, "is not a whole number");
}

Result<float> parse_float(std::string_view cell, char decimal) {
  std::string_view digits = without_plus(trim(cell));
  std::string with_point;  // as std::from_chars reads it
  if (decimal != '.') {
    if (digits.find('.') != digits.npos) return invalid(cell, "is not a number with a decimal comma");
    with_point = digits;
    std::replace(with_point.begin(), with_point.end(), decimal, '.');
    digits = with_point;
  }
  float value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool is_whole = end == digits.data() + digits.size();
  if (is_whole && error == std::errc::result_out_of_range) return out_of_range(cell, digits);
  if (error != std::errc{} || !is_whole) return invalid(cell, "is not a number");
  return value;
}

Status parse_int64s(std::string_view cell, std::vector<std::int64_t>& numbers, char decimal) {
  return parse_list(cell, decimal, parse_int64, numbers);
}

Status parse_wholes(std::string_view cell, std::vector<std::int64_t>& numbers, char decimal) {
  return parse_list(
      cell, decimal, [&](std::string_view text) { return parse_whole(text, decimal); }, numbers);
}

Status parse_floats(std::string_view cell, std::vector<float>& numbers, char decimal) {
  return parse_list(
      cell, decimal, [&](std::string_view text) { return parse_float(text, decimal); }, numbers);
}

}  // namespace headrace
