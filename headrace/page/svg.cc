#include "headrace/page/svg.h"

#include <charconv>

#include "headrace/base/text.h"
#include "headrace/page/html.h"

namespace headrace::svg {

std::string at(double number) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, number, std::chars_format::fixed, 1).ptr;
  return std::string(digits, end);
}

std::string picture(double width, double height, std::string_view content) {
  return html_element(
      "div",
      concat("<svg class=\"chart\" role=\"img\" width=\"", at(width), "\" height=\"", at(height),
             "\" viewBox=\"0 0 ", at(width), " ", at(height), "\">", content, "</svg>"),
      "scroll");
}

std::string line(double x1, double y1, double x2, double y2, std::string_view style) {
  return concat("<line class=\"", style, "\" x1=\"", at(x1), "\" y1=\"", at(y1), "\" x2=\"", at(x2),
                "\" y2=\"", at(y2), "\"/>");
}

std::string label(double x, double y, std::string_view text, std::string_view anchor, std::string_view more) {
  return concat("<text x=\"", at(x), "\" y=\"", at(y), "\" text-anchor=\"", anchor, "\"", more, ">",
                html_escaped(text), "</text>");
}

std::string turned(double x, double y, int degrees) {
  return concat(" transform=\"rotate(", degrees, " ", at(x), " ", at(y), ")\"");
}

std::string tooltip(std::string_view text) {
  return text.empty() ? "" : concat("<title>", html_escaped(text), "</title>");
}

}  // namespace headrace::svg
