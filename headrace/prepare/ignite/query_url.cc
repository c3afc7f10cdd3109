#include "headrace/prepare/ignite/query_url.h"

#include <algorithm>
#include <array>
#include <span>

#include "headrace/base/text.h"
#include "headrace/prepare/ignite/url_parameters.h"

namespace headrace {
namespace {

constexpr std::array<std::string_view, 4> kQueryParameters = {"schema", "query", "order_by", "page_rows"};
constexpr std::span<const std::string_view> kTableParameters = std::span(kQueryParameters).first(1);

// The statement without the semicolons at its end, since it becomes a subquery.
std::string without_end(std::string_view statement) {
  statement = trim(statement);
  while (statement.ends_with(';')) statement = trim(statement.substr(0, statement.size() - 1));
  return std::string(statement);
}

}  // namespace

std::string quoted_identifier(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

Result<std::string> parse_identifier(std::string_view text) {
  const bool is_quoted = text.size() > 2 && text.front() == '"' && text.back() == '"';
  if (is_quoted && text.substr(1, text.size() - 2).find('"') == text.npos && is_valid_utf8(text))
    return std::string(text.substr(1, text.size() - 2));
  const std::string_view name = text;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const bool is_plain = !name.empty() && is_letter(name.front()) && std::ranges::all_of(name, [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9');
  });
  if (!is_plain) {
    return Error{Code::kInvalidArgument,
                 concat("\"", printable_line(text, 80),
                        "\" is not a table name; put a name with characters other than letters, digits and _ "
                        "in double quotes")};
  }
  return to_upper(name);
}

Result<IgniteQueryUrl> parse_ignite_query_url(const Url& url) {
  HEADRACE_TRY(UrlParameters parameters, parse_url_parameters(url, kQueryParameters));
  IgniteQueryUrl out{.hosts = url.authority};
  out.statement = without_end(parameters["query"]);
  if (out.statement.empty() == url.path.empty()) {
    return wrong_url(url, out.statement.empty()
                              ? "names neither a table nor a query: write ignite-sql://host:10800/TABLE, or "
                                "ignite-sql://host:10800/?query=SELECT ..."
                              : "names a table and a query; leave one out");
  }
  if (!url.path.empty()) {
    HEADRACE_TRY(out.table, parse_identifier(url.path));
    out.statement = concat("SELECT * FROM ", quoted_identifier(out.table));
  }
  if (const auto schema = parameters.find("schema"); schema != parameters.end()) out.schema = schema->second;
  if (const auto order = parameters.find("order_by"); order != parameters.end()) {
    HEADRACE_TRY(out.order_by, names_in(url, "order_by", order->second));
  }
  if (const auto rows = parameters.find("page_rows"); rows != parameters.end()) {
    const auto number = parse_number<std::int32_t>(rows->second);
    if (!number || *number < 1) return wrong_url(url, "has page_rows that is not a positive whole number");
    out.page_rows = *number;
  }
  return out;
}

Result<IgniteTableUrl> parse_ignite_table_url(std::string_view text) {
  HEADRACE_TRY(const Url url, parse_url(text, "", {.takes_query = true}));
  HEADRACE_TRY(const UrlParameters parameters, parse_url_parameters(url, kTableParameters));
  if (url.path.empty()) return wrong_url(url, "names no table: write ignite-table://host:10800/PREDICTIONS");
  IgniteTableUrl out{.hosts = url.authority};
  HEADRACE_TRY(out.table, parse_identifier(url.path));
  if (const auto schema = parameters.find("schema"); schema != parameters.end()) out.schema = schema->second;
  return out;
}

}  // namespace headrace
