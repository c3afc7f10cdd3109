#pragma once

/// \file URLs ignite-sql:// and ignite-table://. Grammar: docs/formats/ignite-input.md.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/store/url.h"

namespace headrace {

struct IgniteQueryUrl {
  std::string hosts;
  std::string table;      // as in SYS.INDEXES; empty: a statement was given
  std::string statement;  // a SELECT without order
  std::string schema = "PUBLIC";
  std::vector<std::string> order_by;
  std::int32_t page_rows = 0;  // 0: depends on the size of rows
};

/// \error kInvalidArgument  neither a table nor a query, or both; an unknown or repeated parameter; a wrong
///                          escape or number; not UTF-8
Result<IgniteQueryUrl> parse_ignite_query_url(const Url& url);

struct IgniteTableUrl {
  std::string hosts;
  std::string table;  // as in SYS.TABLES
  std::string schema = "PUBLIC";
};

/// Parses ignite-table://HOST[:PORT]/TABLE[?schema=NAME].
/// \error kInvalidArgument  no table; otherwise as parse_ignite_query_url
Result<IgniteTableUrl> parse_ignite_table_url(std::string_view text);

/// The name as SQL writes it, in double quotes.
std::string quoted_identifier(std::string_view name);

/// The name that SQL reads from `text`: in capitals, unless `text` is in double quotes.
/// \error kInvalidArgument  `text` is neither letters, digits and '_', nor in quotes
Result<std::string> parse_identifier(std::string_view text);

}  // namespace headrace
