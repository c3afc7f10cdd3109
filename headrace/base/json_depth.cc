#include "headrace/base/json_depth.h"

#include "headrace/base/text.h"

namespace headrace {

Status check_json_depth(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char character = text[i];
    if (in_string && character == '\\') {
      ++i;
    } else if (character == '"') {
      in_string = !in_string;
    } else if (in_string) {
      continue;
    } else if (character == '[' || character == '{') {
      if (++depth <= kJsonDepthLimit) continue;
      return Error{Code::kDataLoss, concat("the JSON text nests deeper than ", kJsonDepthLimit,
                                           " levels at offset ", i, ", which Headrace never writes")};
    } else if (character == ']' || character == '}') {
      --depth;
    }
  }
  return {};
}

}  // namespace headrace
