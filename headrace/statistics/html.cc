#include "headrace/statistics/html.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"

namespace headrace {
std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char character : replace_invalid_utf8(text).text) {
    switch (character) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if (static_cast<unsigned char>(character) >= 0x20 || character == '\n') {
          out += character;
        } else {
          out += "\xef\xbf\xbd";
        }
    }
  }
  return out;
}

std::string html_element(std::string_view name, std::string_view content, std::string_view style) {
  const std::string attribute = style.empty() ? "" : concat(" class=\"", style, "\"");
  return concat("<", name, attribute, ">", content, "</", name, ">\n");
}

std::string html_row(const std::vector<std::string>& cells, std::string_view cell) {
  std::string out;
  for (const std::string& each : cells) out += concat("<", cell, ">", each, "</", cell, ">");
  return html_element("tr", out);
}

std::string html_table(const std::vector<std::string>& heading, const std::vector<std::string>& rows) {
  const std::string head = html_element("thead", html_row(heading, "th"));
  const std::string table = html_element("table", concat(head, html_element("tbody", join(rows, ""))));
  return html_element("div", table, "scroll");
}

std::string html_jpeg(BytesView jpeg, std::string_view text) {
  return concat("<img alt=\"", html_escaped(text), "\" src=\"data:image/jpeg;base64,", base64(jpeg), "\">");
}

std::string html_histogram(const std::vector<double>& shares, std::string_view title) {
  constexpr int kBarWidth = 6, kHeight = 36;
  const double highest = shares.empty() ? 0 : *std::max_element(shares.begin(), shares.end());
  std::string bars;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] <= 0) continue;
    const int height = std::max(1, static_cast<int>(std::lround(kHeight * shares[i] / highest)));
    bars += concat("<rect x=\"", i * kBarWidth, "\" y=\"", kHeight - height, "\" width=\"", kBarWidth - 1,
                   "\" height=\"", height, "\"/>");
  }
  return concat("<svg role=\"img\" viewBox=\"0 0 ", shares.size() * kBarWidth, " ", kHeight, "\"><title>",
                html_escaped(title), "</title>", bars, "</svg>");
}

std::string grouped(std::uint64_t number) {
  std::string digits = concat(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

std::string shortened(double number) {
  if (number == std::floor(number) && std::abs(number) < 1e15) {
    const std::string digits = grouped(static_cast<std::uint64_t>(std::abs(number)));
    return number < 0 ? concat("-", digits) : digits;
  }
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, number, std::chars_format::general, 5).ptr;
  return std::string(digits, end);
}

std::string percentage(double share) {
  char digits[32];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, 100 * share, std::chars_format::fixed, 1).ptr;
  return concat(std::string_view(digits, end), " %");
}

}  // namespace headrace
