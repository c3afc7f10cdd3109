#pragma once

/// \file Elements of SVG, for the charts of this folder. Texts are escaped.

#include <string>
#include <string_view>

namespace headrace::svg {

/// A coordinate: one decimal is less than a pixel.
std::string at(double number);
/// A chart as an element of a page.
std::string picture(double width, double height, std::string_view content);
std::string line(double x1, double y1, double x2, double y2, std::string_view style);
/// \param anchor  start, middle or end
/// \param more    attributes, each after a blank
std::string label(double x, double y, std::string_view text, std::string_view anchor,
                  std::string_view more = "");
/// An attribute for `label`: turned about its place.
std::string turned(double x, double y, int degrees);
/// For an element: shown for a pointer that rests on it. "" of an empty text.
std::string tooltip(std::string_view text);

}  // namespace headrace::svg
