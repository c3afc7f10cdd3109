#include "headrace/base/key.h"

#include "headrace/base/text.h"

namespace headrace {

Status check_key(std::string_view key) {
  const auto refuse = [&](std::string_view why) {
    return Error{Code::kInvalidArgument,
                 concat("\"", replace_invalid_utf8(key.substr(0, 200)).text, "\" is not a valid key: ", why)};
  };
  if (key.empty()) return refuse("it is empty");
  if (key.size() > 1024) return refuse("it is longer than 1,024 bytes");
  if (key.find('\0') != std::string_view::npos) return refuse("it holds a zero byte");
  if (!is_valid_utf8(key)) return refuse("it is not UTF-8");
  for (const std::string& segment : split(key, '/')) {
    if (segment.empty()) return refuse("a segment between slashes is empty");
    if (segment == "." || segment == "..") return refuse("a segment is \".\" or \"..\"");
    if (segment.size() > 255) return refuse("a segment is longer than 255 bytes");
  }
  return {};
}

}  // namespace headrace
