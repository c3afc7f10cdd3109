#include "headrace/track/run_keys.h"

#include <algorithm>

#include "headrace/base/environment.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::size_t kMostNameBytes = 64;
constexpr int kRankDigits = 6;
constexpr std::size_t kTimeDigits = 12;
constexpr std::size_t kRandomDigits = 8;
constexpr std::uint64_t kEndOfTime = (std::uint64_t{1} << 48) - 1;  // 48 bits: 12 hexadecimal digits

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::optional<std::uint64_t> parse_hexadecimal(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Status check_run_name(std::string_view name) {
  const bool is_good = !name.empty() && name.size() <= kMostNameBytes && is_letter_or_digit(name.front()) &&
                       std::ranges::all_of(name, [](char c) {
                         return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-';
                       });
  if (is_good) return {};
  return Error{Code::kInvalidArgument,
               concat("\"", printable_line(name, kMostNameBytes),
                      "\" cannot name a run or a part of its record: a name has 1 to ", kMostNameBytes,
                      " letters, digits, '.', '_' and '-', and begins with a letter or a digit")};
}

std::string make_run_id(std::chrono::system_clock::time_point start, std::uint32_t random) {
  std::string id;
  for (const char c : format_time(start)) {
    if (c >= '0' && c <= '9') id += c;
    if (c == 'T') id += '-';
  }
  return concat(id, "-", hex32(random));
}

std::string part_name_prefix(std::uint64_t rank) { return concat(zero_padded(rank, kRankDigits), "-"); }

std::string make_part_name(std::uint64_t rank, std::chrono::system_clock::time_point start,
                           std::uint32_t random) {
  using std::chrono::floor, std::chrono::milliseconds;
  const auto ms = static_cast<std::uint64_t>(floor<milliseconds>(start.time_since_epoch()).count());
  const std::string time = hex64(kEndOfTime - std::min(ms, kEndOfTime));
  return concat(part_name_prefix(rank), time.substr(time.size() - kTimeDigits), "-", hex32(random));
}

std::optional<PartName> parse_part_name(std::string_view name) {
  const std::size_t dash = name.find('-');
  if (dash == std::string_view::npos || name.size() != dash + 1 + kTimeDigits + 1 + kRandomDigits ||
      name[dash + 1 + kTimeDigits] != '-')
    return std::nullopt;
  const auto rank = parse_number<std::uint64_t>(name.substr(0, dash));
  const auto time = parse_hexadecimal(name.substr(dash + 1, kTimeDigits));
  if (!rank || !time || !parse_hexadecimal(name.substr(name.size() - kRandomDigits))) return std::nullopt;
  return PartName{*rank, kEndOfTime - *time};
}

std::string part_key(std::string_view run, std::string_view part, std::string_view object) {
  return concat(kRunPartsPrefix, run, "/", part, "/", object);
}

}  // namespace headrace
