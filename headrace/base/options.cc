#include "headrace/base/options.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "headrace/base/text.h"

namespace headrace {
namespace {

Error unknown_name(std::span<const Option> table, std::string_view name) {
  std::vector<std::string> names;
  for (const Option& option : table) names.emplace_back(option.name);
  const auto nearest = nearest_name(name, names);
  return {Code::kInvalidArgument,
          concat("there is no option --", name,
                 nearest ? concat("; did you mean --", *nearest, "?") : std::string())};
}

Error refuse(const Option& option, std::string_view text, std::string_view wanted) {
  return {Code::kInvalidArgument, concat("--", option.name, " takes ", wanted, ", not \"", text, "\"")};
}

// A limit as people write it: 1000000, not 1e+06.
std::string limit_text(const Option& option, double limit) {
  if (option.type == OptionType::kSize) return format_size(static_cast<std::uint64_t>(limit));
  const bool whole = std::abs(limit) < 1e15 && limit == std::trunc(limit);
  return whole ? concat(static_cast<std::int64_t>(limit)) : concat(limit);
}

// "a whole number from 1 to 64", "a size of at least 1.0 MB"
std::string within_range(std::string_view what, const Option& option) {
  const std::string range = allowed_range(option);
  return concat(what, range.empty() ? "" : range.starts_with("from") ? " " : " of ", range);
}

bool is_numeric(OptionType type) {
  return type == OptionType::kInteger || type == OptionType::kNumber || type == OptionType::kSize;
}

}  // namespace

std::string allowed_range(const Option& option) {
  const bool low = option.minimum != std::numeric_limits<double>::lowest();
  const bool high = option.maximum != std::numeric_limits<double>::max();
  if (low && high)
    return concat("from ", limit_text(option, option.minimum), " to ", limit_text(option, option.maximum));
  if (low) return concat("at least ", limit_text(option, option.minimum));
  if (high) return concat("at most ", limit_text(option, option.maximum));
  return "";
}

OptionValues::OptionValues(std::span<const Option> table) : table_(table) {
  for (const Option& option : table) {
    if (option.default_value.empty()) continue;
    const Status status = set(option.name, option.default_value);
    if (!status) throw std::logic_error(concat("default of --", option.name, ": ", status.error().message));
    values_.find(option.name)->second.given = false;
  }
}

Status OptionValues::set(std::string_view name, std::string_view text) {
  const auto found =
      std::find_if(table_.begin(), table_.end(), [&](const Option& option) { return option.name == name; });
  if (found == table_.end()) return unknown_name(table_, name);
  const Option& option = *found;
  Value value;
  if (const auto before = values_.find(name);
      option.type == OptionType::kTextList && before != values_.end() && before->second.given) {
    value = before->second;
  }
  value.given = true;
  value.texts.emplace_back(text);

  if (option.type == OptionType::kInteger) {
    const auto number = parse_number<std::int64_t>(text);
    if (!number) return refuse(option, text, within_range("a whole number", option));
    value.integer = *number;
    value.number = static_cast<double>(*number);
  } else if (option.type == OptionType::kNumber) {
    const auto number = parse_number<double>(text);
    if (!number) return refuse(option, text, within_range("a number", option));
    value.number = *number;
  } else if (option.type == OptionType::kSize) {
    const auto size = parse_size_bytes(text);
    if (!size) return refuse(option, text, "a size such as 300MB or 1GiB");
    value.integer = static_cast<std::int64_t>(*size);
    value.number = static_cast<double>(*size);
  } else if (option.type == OptionType::kFlag && text != "true") {
    return refuse(option, text, "no value");
  }
  if (is_numeric(option.type) && !(value.number >= option.minimum && value.number <= option.maximum)) {
    return refuse(option, text,
                  within_range(option.type == OptionType::kSize ? "a size" : "a number", option));
  }
  if (!option.choices.empty()) {
    const std::vector<std::string> choices = split(option.choices, '|');
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
      return refuse(option, text, concat("one of ", join(choices, ", ")));
    }
  }
  values_.insert_or_assign(std::string(name), std::move(value));
  return {};
}

bool OptionValues::has(std::string_view name) const {
  declaration(name);
  return values_.contains(name);
}

bool OptionValues::given(std::string_view name) const {
  declaration(name);
  const auto found = values_.find(name);
  return found != values_.end() && found->second.given;
}

const Option& OptionValues::declaration(std::string_view name) const {
  const auto found =
      std::find_if(table_.begin(), table_.end(), [&](const Option& option) { return option.name == name; });
  if (found == table_.end()) throw std::logic_error(concat("no option --", name, " is declared"));
  return *found;
}

const OptionValues::Value& OptionValues::value(std::string_view name, OptionType type) const {
  static const Value kNone;
  if (declaration(name).type != type)
    throw std::logic_error(concat("--", name, " is read as another type than it has"));
  const auto found = values_.find(name);
  return found == values_.end() ? kNone : found->second;
}

std::string OptionValues::shown(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? "" : join(found->second.texts, ", ");
}

const std::string& OptionValues::text(std::string_view name) const {
  static const std::string kEmpty;
  const Value& found = value(name, OptionType::kText);
  return found.texts.empty() ? kEmpty : found.texts.back();
}
std::int64_t OptionValues::integer(std::string_view name) const {
  return value(name, OptionType::kInteger).integer;
}
double OptionValues::number(std::string_view name) const { return value(name, OptionType::kNumber).number; }
std::uint64_t OptionValues::size_bytes(std::string_view name) const {
  return static_cast<std::uint64_t>(value(name, OptionType::kSize).integer);
}
bool OptionValues::flag(std::string_view name) const { return !value(name, OptionType::kFlag).texts.empty(); }
const std::vector<std::string>& OptionValues::list(std::string_view name) const {
  return value(name, OptionType::kTextList).texts;
}

}  // namespace headrace
