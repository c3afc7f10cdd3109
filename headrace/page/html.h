#pragma once

/// \file Builds HTML. Arguments that are texts are escaped. Not escaped are arguments that are called HTML
/// here, and the names of elements and styles.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"

namespace headrace {

/// Escapes `&`, `<`, `>` and both quotes, for content and for quoted attributes. Ill-formed UTF-8 and control
/// characters become U+FFFD.
std::string html_escaped(std::string_view text);

/// <name class="style">content</name>; `content` is HTML.
std::string html_element(std::string_view name, std::string_view content, std::string_view style = "");

/// A table's row; the cells are HTML.
std::string html_row(const std::vector<std::string>& cells, std::string_view cell = "td");
std::string html_table(const std::vector<std::string>& heading, const std::vector<std::string>& rows);

/// An <img> that contains its JPEG; `text` is its alternative text.
std::string html_jpeg(BytesView jpeg, std::string_view text);

/// A small picture of bars. Heights are in proportion to the shares; the highest bar fills the picture.
std::string html_histogram(const std::vector<double>& shares, std::string_view title);

/// A section with a heading; `content` is HTML.
std::string html_card(std::string_view title, std::string_view content, std::string_view style = "");
/// A paragraph of small print; `text` is escaped.
std::string html_hint(std::string_view text);
/// A number for the row at the top of a page, and what it counts. Facts stand in an element of style "facts".
std::string html_fact(std::string_view number, std::string_view what);
/// A card that stands out, with an item for each of the first 50 texts; "" if there are none.
std::string html_warnings(const std::vector<std::string>& texts);
/// A whole file that needs nothing else: its policy forbids scripts and requests. `body` is HTML.
std::string html_document(std::string_view title, std::string_view body);

/// The first `most_bytes` bytes of a text as one line of printable UTF-8, followed by "…" if more follows.
std::string beginning_of(std::string_view text, std::size_t most_bytes);
/// A number with separators: "1,437".
std::string grouped(std::uint64_t number);
/// At most five significant digits: "0.30655", "1.2e+09". Whole numbers below 10^15 have separators.
std::string shortened(double number);
/// As `shortened`, with at most three digits: "0.307". For estimates and axes of charts.
std::string three_digits(double number);
/// A share as "12.5 %".
std::string percentage(double share);

}  // namespace headrace
