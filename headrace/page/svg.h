#pragma once

/// \file Elements of SVG, for the charts of this folder. Texts are escaped.

#include <string>
#include <string_view>

namespace headrace::svg {

/// A coordinate with one decimal, which is finer than a pixel.
std::string at(double number);
/// Wraps a chart as an element of a page; `content` is SVG.
std::string picture(double width, double height, std::string_view content);
std::string line(double x1, double y1, double x2, double y2, std::string_view style);
/// \param anchor  "start", "middle" or "end"
/// \param more    further attributes, each after a blank
std::string label(double x, double y, std::string_view text, std::string_view anchor,
                  std::string_view more = "");
/// An attribute for `label` that turns it about the given point.
std::string turned(double x, double y, int degrees);
/// A child of an element: the text that is shown while the pointer rests on the element. "" for no text.
std::string tooltip(std::string_view text);

}  // namespace headrace::svg
