#include "headrace/track/search_filter.h"

#include <algorithm>
#include <cmath>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using Comparator = FilterClause::Comparator;

constexpr std::size_t kFilterBytesMax = 64 << 10;
// Each pattern may be compared at every position of each text.
constexpr std::size_t kPatternBytesMax = 1 << 10;
constexpr std::size_t kPatternsMax = 16;
constexpr std::size_t kClausesMax = 100;  // databases refuse expressions that are much deeper

Error filter_error(std::string_view message) { return {Code::kInvalidArgument, std::string(message)}; }

bool is_word(char each) {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || (each >= '0' && each <= '9') ||
         std::string_view("_./:-").find(each) != std::string_view::npos ||
         static_cast<unsigned char>(each) >= 0x80;
}

// Reads a filter from left to right.
class FilterScanner {
 public:
  explicit FilterScanner(std::string_view text) : text_(text) {}

  bool is_at_end() {
    skip_space();
    return position_ == text_.size();
  }
  std::string_view rest() const { return text_.substr(position_); }

  // The keyword in any case, not followed by more of a word.
  bool take_keyword(std::string_view keyword) {
    skip_space();
    const std::string_view word = rest().substr(0, keyword.size());
    if (to_upper(word) != keyword) return false;
    if (position_ + keyword.size() < text_.size() && is_word(text_[position_ + keyword.size()])) return false;
    position_ += keyword.size();
    return true;
  }

  bool take(std::string_view symbol) {
    skip_space();
    if (!rest().starts_with(symbol)) return false;
    position_ += symbol.size();
    return true;
  }

  // Takes a name. Parts of it may be quoted: metrics.`val loss`. The quotes are kept.
  std::string take_name() {
    skip_space();
    const std::size_t begin = position_;
    while (position_ < text_.size()) {
      const char each = text_[position_];
      if (each == '`' || each == '"') {
        const std::size_t end = text_.find(each, position_ + 1);
        if (end == text_.npos) break;
        position_ = end + 1;
      } else if (is_word(each)) {
        ++position_;
      } else {
        break;
      }
    }
    return std::string(text_.substr(begin, position_ - begin));
  }

  std::optional<std::string> take_quoted() {
    skip_space();
    if (position_ == text_.size() || (text_[position_] != '\'' && text_[position_] != '"'))
      return std::nullopt;
    const std::size_t end = text_.find(text_[position_], position_ + 1);
    if (end == text_.npos) return std::nullopt;
    const std::size_t begin = std::exchange(position_, end + 1) + 1;
    return std::string(text_.substr(begin, end - begin));
  }

  std::optional<double> take_number() {
    skip_space();
    std::size_t end = position_;
    while (end < text_.size() && (is_word(text_[end]) || text_[end] == '+')) ++end;
    std::string_view word = text_.substr(position_, end - position_);
    if (word.starts_with('+')) word.remove_prefix(1);
    const auto number = finite_number(word);
    if (!number) return std::nullopt;
    position_ = end;
    return number;
  }

 private:
  void skip_space() {
    while (position_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[position_]) != std::string_view::npos)
      ++position_;
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

std::string without_quotes(std::string_view name) {
  const bool is_quoted =
      name.size() >= 2 && name.front() == name.back() && (name.front() == '`' || name.front() == '"');
  return std::string(is_quoted ? name.substr(1, name.size() - 2) : name);
}

std::optional<Entity> entity_of(std::string_view name) {
  static const std::vector<std::pair<Entity, std::vector<std::string_view>>> kEntities = {
      {Entity::kMetric, {"metric", "metrics"}},
      {Entity::kParam, {"parameter", "parameters", "param", "params"}},
      {Entity::kTag, {"tag", "tags"}},
      {Entity::kAttribute, {"attribute", "attributes", "attr", "run"}},
      {Entity::kDataset, {"dataset", "datasets"}}};
  for (const auto& [entity, names] : kEntities) {
    if (std::ranges::find(names, name) != names.end()) return entity;
  }
  return std::nullopt;
}

std::string attribute_key(std::string_view key) {
  if (key == "created" || key == "Created") return "start_time";
  if (key == "run name" || key == "Run name" || key == "Run Name") return "run_name";
  return std::string(key);
}

Result<SearchColumn> parse_column(std::string_view name, const SearchTarget& target) {
  if (name.empty()) return filter_error("Invalid clause(s) in filter string: a name is missing");
  const bool is_quoted = name.front() == '`' || name.front() == '"';
  const std::size_t dot = is_quoted ? name.npos : name.find('.');
  SearchColumn column;
  if (dot != name.npos) {
    const auto entity = entity_of(without_quotes(name.substr(0, dot)));
    if (!entity || (*entity != Entity::kAttribute && !target.entities.contains(*entity))) {
      return filter_error(concat("Invalid entity type '", printable_line(name.substr(0, dot), 60),
                                 "'. Valid values are attribute, metric, param, tag and dataset, as far as "
                                 "the searched objects have them"));
    }
    column.entity = *entity;
  }
  column.key = without_quotes(dot == name.npos ? name : name.substr(dot + 1));
  if (column.entity == Entity::kAttribute) {
    const bool has_aliases = target.entities.contains(Entity::kDataset);  // true if runs are searched
    if (has_aliases) column.key = attribute_key(column.key);
    if (!target.text_attributes.contains(column.key) && !target.number_attributes.contains(column.key))
      return filter_error(concat("Invalid attribute key '", printable_line(column.key, 60), "' specified"));
  }
  static const std::set<std::string, std::less<>> kDatasetKeys = {"name", "digest", "context"};
  if (column.entity == Entity::kDataset && !kDatasetKeys.contains(column.key))
    return filter_error(concat("Invalid dataset key '", printable_line(column.key, 60), "' specified"));
  return column;
}

bool is_number_column(const SearchColumn& column, const SearchTarget& target) {
  return column.entity == Entity::kMetric ||
         (column.entity == Entity::kAttribute && target.number_attributes.contains(column.key));
}

bool may_be_number(const SearchColumn& column, const SearchTarget& target) {
  return column.entity == Entity::kParam && target.compares_params_by_number;
}

bool is_for_numbers(Comparator comparator) { return comparator <= Comparator::kGreaterEqual; }

Result<Comparator> take_comparator(FilterScanner& scanner) {
  constexpr std::pair<std::string_view, Comparator> kSymbols[] = {
      {"!=", Comparator::kNotEqual}, {"<=", Comparator::kLessEqual}, {">=", Comparator::kGreaterEqual},
      {"=", Comparator::kEqual},     {"<", Comparator::kLess},       {">", Comparator::kGreater}};
  for (const auto& [symbol, comparator] : kSymbols) {
    if (scanner.take(symbol)) return comparator;
  }
  if (scanner.take_keyword("LIKE")) return Comparator::kLike;
  if (scanner.take_keyword("ILIKE")) return Comparator::kIlike;
  if (scanner.take_keyword("IN")) return Comparator::kIn;
  if (scanner.take_keyword("NOT") && scanner.take_keyword("IN")) return Comparator::kNotIn;
  if (scanner.take_keyword("IS")) {
    const bool is_not = scanner.take_keyword("NOT");
    if (scanner.take_keyword("NULL")) return is_not ? Comparator::kNotNull : Comparator::kNull;
  }
  return filter_error(concat("Invalid clause(s) in filter string: a comparator is missing before '",
                             printable_line(scanner.rest(), 60), "'"));
}

Status check_comparator(const FilterClause& clause, const SearchTarget& target) {
  const Comparator comparator = clause.comparator;
  const bool is_null = comparator == Comparator::kNull || comparator == Comparator::kNotNull;
  const bool is_list = comparator == Comparator::kIn || comparator == Comparator::kNotIn;
  const Entity entity = clause.column.entity;
  if (is_null && entity != Entity::kTag && entity != Entity::kParam)
    return filter_error("IS NULL / IS NOT NULL is only supported for tags and params");
  const bool takes_list = entity == Entity::kDataset || (entity == Entity::kAttribute &&
                                                         target.list_attributes.contains(clause.column.key));
  if (is_list && !takes_list)
    return filter_error(
        concat("'", printable_line(clause.column.key, 60), "' does not support IN and NOT IN"));
  const bool is_number = is_number_column(clause.column, target);
  const bool has_order =
      may_be_number(clause.column, target) ||
      (entity == Entity::kAttribute && target.ordered_attributes.contains(clause.column.key));
  const bool is_order = is_for_numbers(comparator) && comparator >= Comparator::kLess && !has_order;
  if (is_number ? !is_for_numbers(comparator) : is_order)
    return filter_error(concat("Invalid comparator for '", printable_line(clause.column.key, 60), "'"));
  return {};
}

Status take_list(FilterScanner& scanner, FilterClause& clause) {
  const auto ill_formed = [] {
    return filter_error("expected a non-empty list of quoted texts in parentheses");
  };
  if (!scanner.take("(")) return ill_formed();
  do {
    auto text = scanner.take_quoted();
    if (!text) {
      if (clause.texts.empty() || !scanner.take(")")) return ill_formed();  // a comma may come last
      return {};
    }
    clause.texts.push_back(*std::move(text));
  } while (scanner.take(","));
  return scanner.take(")") ? Status{} : ill_formed();
}

Status take_value(FilterScanner& scanner, FilterClause& clause, const SearchTarget& target) {
  if (clause.comparator == Comparator::kNull || clause.comparator == Comparator::kNotNull) return {};
  if (clause.comparator == Comparator::kIn || clause.comparator == Comparator::kNotIn)
    return take_list(scanner, clause);
  const auto wrong = [&](std::string_view wanted) {
    return filter_error(concat("Expected ", wanted, " for '", printable_line(clause.column.key, 60),
                               "'. Found ", printable_line(scanner.rest(), 60)));
  };
  const bool is_number = is_number_column(clause.column, target);
  if (is_number || (is_for_numbers(clause.comparator) && may_be_number(clause.column, target))) {
    const auto number = scanner.take_number();
    clause.number = number.value_or(0);
    if (number) return {};
    if (is_number || clause.comparator >= Comparator::kLess) return wrong("numeric value type");
  }
  auto text = scanner.take_quoted();
  if (!text) return wrong("a quoted string value");
  clause.texts.push_back(*std::move(text));
  return {};
}

Status check_patterns(const std::vector<FilterClause>& clauses) {
  std::size_t patterns = 0;
  for (const FilterClause& clause : clauses) {
    if (clause.comparator != Comparator::kLike && clause.comparator != Comparator::kIlike) continue;
    if (clause.texts[0].size() > kPatternBytesMax)
      return filter_error(concat("a pattern of LIKE has more than ", kPatternBytesMax, " bytes"));
    if (++patterns > kPatternsMax)
      return filter_error(concat("the filter has more than ", kPatternsMax, " clauses with LIKE or ILIKE"));
  }
  return {};
}

bool holds_for_number(const FilterClause& clause, double value) {
  switch (clause.comparator) {
    case Comparator::kEqual:
      return value == clause.number;
    case Comparator::kNotEqual:
      return value != clause.number;
    case Comparator::kLess:
      return value < clause.number;
    case Comparator::kLessEqual:
      return value <= clause.number;
    case Comparator::kGreater:
      return value > clause.number;
    case Comparator::kGreaterEqual:
      return value >= clause.number;
    default:
      return false;
  }
}

bool holds_for_text(const FilterClause& clause, const std::string& value) {
  switch (clause.comparator) {
    case Comparator::kEqual:
      return value == clause.texts[0];
    case Comparator::kNotEqual:
      return value != clause.texts[0];
    case Comparator::kLess:
      return value < clause.texts[0];
    case Comparator::kLessEqual:
      return value <= clause.texts[0];
    case Comparator::kGreater:
      return value > clause.texts[0];
    case Comparator::kGreaterEqual:
      return value >= clause.texts[0];
    case Comparator::kLike:
      return matches_like(value, clause.texts[0], false);
    case Comparator::kIlike:
      return matches_like(value, clause.texts[0], true);
    case Comparator::kIn:
      return std::ranges::find(clause.texts, value) != clause.texts.end();
    case Comparator::kNotIn:
      return std::ranges::find(clause.texts, value) == clause.texts.end();
    default:
      return false;
  }
}

bool holds_for(const FilterClause& clause, const ColumnValue& value) {
  const bool is_missing = std::holds_alternative<std::monostate>(value);
  if (clause.comparator == Comparator::kNull) return is_missing;
  if (clause.comparator == Comparator::kNotNull) return !is_missing;
  if (is_missing) return false;
  if (const auto* number = std::get_if<double>(&value)) return holds_for_number(clause, *number);
  const auto& text = std::get<std::string>(value);
  if (!clause.texts.empty()) return holds_for_text(clause, text);
  const auto number = finite_number(text);
  return number && holds_for_number(clause, *number);
}

}  // namespace

Result<SearchFilter> SearchFilter::parse(std::string_view text, const SearchTarget& target) {
  if (text.size() > kFilterBytesMax)
    return filter_error(concat("the filter has more than ", kFilterBytesMax, " bytes"));
  SearchFilter filter;
  FilterScanner scanner(text);
  while (!scanner.is_at_end()) {
    if (!filter.clauses_.empty() && !scanner.take_keyword("AND"))
      return filter_error(
          concat("Invalid clause(s) in filter string: '", printable_line(scanner.rest(), 60), "'"));
    FilterClause clause;
    HEADRACE_TRY(clause.column, parse_column(scanner.take_name(), target));
    HEADRACE_TRY(clause.comparator, take_comparator(scanner));
    HEADRACE_CHECK(check_comparator(clause, target));
    HEADRACE_CHECK(take_value(scanner, clause, target));
    filter.clauses_.push_back(std::move(clause));
    if (filter.clauses_.size() > kClausesMax)
      return filter_error(concat("the filter has more than ", kClausesMax, " clauses"));
  }
  HEADRACE_CHECK(check_patterns(filter.clauses_));
  return filter;
}

bool SearchFilter::matches(const ColumnValues& values_of) const {
  return std::ranges::all_of(clauses_, [&](const FilterClause& clause) {
    const std::vector<ColumnValue> values = values_of(clause.column);
    return std::ranges::any_of(values, [&](const ColumnValue& value) { return holds_for(clause, value); });
  });
}

Result<SearchOrder> parse_order(std::string_view text, const SearchTarget& target) {
  SearchOrder order;
  FilterScanner scanner(text);
  HEADRACE_TRY(order.column, parse_column(scanner.take_name(), target));
  if (scanner.take_keyword("DESC")) {
    order.is_ascending = false;
  } else {
    scanner.take_keyword("ASC");
  }
  if (!scanner.is_at_end() || order.column.entity == Entity::kDataset)
    return filter_error(concat("Invalid order_by clause '", printable_line(text, 100), "'"));
  return order;
}

std::optional<double> finite_number(std::string_view text) {
  const auto number = parse_number<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

bool value_comes_before(const ColumnValue& one, const ColumnValue& other, bool is_ascending) {
  const auto rank = [](const ColumnValue& value) {  // later ranks come last
    const auto* number = std::get_if<double>(&value);
    return std::holds_alternative<std::monostate>(value) ? 2 : number && std::isnan(*number) ? 1 : 0;
  };
  if (rank(one) != rank(other)) return rank(one) < rank(other);
  if (rank(one) != 0) return false;
  return is_ascending ? one < other : other < one;
}

bool matches_like(std::string_view text, std::string_view pattern, bool ignores_case) {
  const std::string lower_text = ignores_case ? to_lower(text) : std::string();
  const std::string lower_pattern = ignores_case ? to_lower(pattern) : std::string();
  if (ignores_case) text = lower_text, pattern = lower_pattern;
  std::size_t at = 0, in_pattern = 0;
  std::size_t retry_at = 0, retry_in_pattern = pattern.npos;  // after the last %
  while (at < text.size()) {
    const std::size_t length = first_utf8_character(text.substr(at)).length;
    if (in_pattern < pattern.size() && pattern[in_pattern] == '%') {
      retry_in_pattern = ++in_pattern;
      retry_at = at;
    } else if (in_pattern < pattern.size() && pattern[in_pattern] == '_') {
      ++in_pattern;
      at += length;
    } else if (in_pattern < pattern.size() && pattern[in_pattern] == text[at]) {
      ++in_pattern;
      ++at;
    } else if (retry_in_pattern != pattern.npos) {
      in_pattern = retry_in_pattern;
      retry_at += first_utf8_character(text.substr(retry_at)).length;
      at = retry_at;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('%', in_pattern) == pattern.npos;
}

}  // namespace headrace
