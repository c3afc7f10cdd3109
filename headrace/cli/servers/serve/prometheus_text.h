#pragma once

/// \file Writes parts of Prometheus' text format, version 0.0.4.

#include <string>
#include <string_view>

#include "headrace/base/json.h"
#include "headrace/base/text.h"

namespace headrace::prometheus {

/// A label, `name="value"`. Backslashes, quotes and line ends are escaped as in JSON.
inline std::string label(std::string_view name, std::string_view value) {
  return concat(name, "=", Json(value).dump());
}

inline void add_type(std::string_view name, std::string_view type, std::string_view help, std::string& out) {
  out += concat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}

}  // namespace headrace::prometheus
