#include "headrace/page/html.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/page/page_style.h"

namespace headrace {
namespace {

constexpr std::size_t kShownWarnings = 50;

}  // namespace

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
  return concat("<svg class=\"bars\" role=\"img\" viewBox=\"0 0 ", shares.size() * kBarWidth, " ", kHeight,
                "\"><title>", html_escaped(title), "</title>", bars, "</svg>");
}

std::string html_card(std::string_view title, std::string_view content, std::string_view style) {
  return html_element("section", concat(html_element("h2", html_escaped(title)), content), style);
}

std::string html_hint(std::string_view text) { return html_element("p", html_escaped(text)); }

std::string html_fact(std::string_view number, std::string_view what) {
  return html_element("div",
                      concat("<b>", html_escaped(number), "</b><span>", html_escaped(what), "</span>"));
}

std::string html_warnings(const std::vector<std::string>& texts) {
  if (texts.empty()) return {};
  std::string items;
  for (std::size_t i = 0; i < std::min(texts.size(), kShownWarnings); ++i)
    items += html_element("li", html_escaped(texts[i]));
  if (texts.size() > kShownWarnings)
    items += html_element("li", concat("and ", texts.size() - kShownWarnings, " more"));
  return html_card("Look at this", html_element("ul", items), "warnings");
}

std::string html_document(std::string_view title, std::string_view body) {
  return concat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
      html_escaped(title), "</title>\n<style>", kPageStyle, "</style>\n</head>\n<body>\n",
      html_element("main", body), "</body>\n</html>\n");
}

std::string beginning_of(std::string_view text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return printable_line(text, most_bytes);
  std::size_t end = most_bytes;
  const auto continues = [&] { return (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80; };
  while (end > 0 && most_bytes - end < 3 && continues()) --end;
  return concat(printable_line(text, end), "…");
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

std::string three_digits(double number) {
  if (number == 0 || !std::isfinite(number)) return shortened(number);
  char digits[32];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, number, std::chars_format::scientific, 2).ptr;
  return shortened(parse_number<double>(std::string_view(digits, end)).value_or(number));
}

std::string percentage(double share) {
  char digits[32];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, 100 * share, std::chars_format::fixed, 1).ptr;
  return concat(std::string_view(digits, end), " %");
}

}  // namespace headrace
