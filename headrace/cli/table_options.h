#pragma once

/// \file Options for reading tables.

#include <string>

#include "headrace/base/text.h"
#include "headrace/cli/command.h"

namespace headrace {

inline constexpr Option kDelimiterOption = {
    .name = "delimiter",
    .unit = "CHARACTER",
    .sentence = "Separator of a table's columns, such as ';' or tab. Default: ',' for CSV, tab for TSV."};

/// The character that --delimiter names; 0 if it is not given.
/// \error kInvalidArgument  it is not one character that can separate columns
inline Result<char> delimiter_from(const OptionValues& values) {
  if (!values.has("delimiter")) return '\0';
  const std::string& text = values.text("delimiter");
  if (text == "tab" || text == "\\t" || text == "\t") return '\t';
  const bool is_separator = text.size() == 1 && text.front() > ' ' && text.front() < 0x7f && text != "\"";
  if (is_separator) return text.front();
  return Error{Code::kInvalidArgument,
               concat("--delimiter must be one printable ASCII character other than '\"', or tab; it is \"",
                      printable_line(text, 20), "\"")};
}

}  // namespace headrace
