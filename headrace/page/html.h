#pragma once

/// \file Builds HTML. Text arguments are escaped; only `Html` is not.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"

namespace headrace {

/// Text in which `&`, `<`, `>` and both quotes have become references: for content and for quoted attributes.
/// Ill-formed UTF-8 and control characters become U+FFFD.
std::string html_escaped(std::string_view text);

/// <name class="style">content</name>; `content` is HTML.
std::string html_element(std::string_view name, std::string_view content, std::string_view style = "");

/// A row of a table; the cells are HTML.
std::string html_row(const std::vector<std::string>& cells, std::string_view cell = "td");
std::string html_table(const std::vector<std::string>& heading, const std::vector<std::string>& rows);

/// An <img> that holds its JPEG; `text` stands in for it.
std::string html_jpeg(BytesView jpeg, std::string_view text);

/// A small picture of bars, as high as their shares, the highest filling it.
std::string html_histogram(const std::vector<double>& shares, std::string_view title);

/// A section with a heading; `content` is HTML.
std::string html_card(std::string_view title, std::string_view content, std::string_view style = "");
/// A paragraph of small print.
std::string html_hint(std::string_view text);
/// A number of the row at the top of a page, and what it counts: they stand in an element of style "facts".
std::string html_fact(std::string_view number, std::string_view what);
/// A card that stands out, with an item for each text, the first 50; "" without any.
std::string html_warnings(const std::vector<std::string>& texts);
/// The whole file, which needs nothing else: a policy in it forbids scripts and requests. `body` is HTML.
std::string html_document(std::string_view title, std::string_view body);

/// The first `most_bytes` of a text as one line of printable UTF-8, and "…" where more follows.
std::string beginning_of(std::string_view text, std::size_t most_bytes);
/// "1,437".
std::string grouped(std::uint64_t number);
/// At most five significant digits: "0.30655", "1.2e+09"; whole numbers below 10^15 with groups.
std::string shortened(double number);
/// The same with at most three: "0.307", for estimates and the sides of charts.
std::string three_digits(double number);
/// "12.5 %".
std::string percentage(double share);

}  // namespace headrace
