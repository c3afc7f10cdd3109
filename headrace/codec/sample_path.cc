#include "headrace/codec/sample_path.h"

#include <algorithm>
#include <array>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::array<std::string_view, 5> kNumberFields = {"cls", "cls2", "index", "inx", "id"};
constexpr std::size_t kMaxNumberBytes = 64;  // including white space around the number

}  // namespace

std::optional<SampleFileName> split_sample_path(std::string_view path) {
  while (path.starts_with("./")) path.remove_prefix(2);
  const std::string_view first = path.substr(0, path.find('/'));
  if (first.size() >= 4 && first.starts_with("__") && first.ends_with("__")) return std::nullopt;
  const std::size_t name = path.rfind('/') + 1;  // npos + 1 is 0
  const std::size_t dot = path.find('.', name);
  if (dot == path.npos || dot == name) return std::nullopt;
  return SampleFileName{path.substr(0, dot), path.substr(dot + 1)};
}

// In a field such as "left.cls", the last extension decides.
bool is_sample_number_field(std::string_view field) {
  return std::ranges::find(kNumberFields, field.substr(field.rfind('.') + 1)) != kNumberFields.end();
}

std::optional<std::int64_t> parse_sample_number(BytesView data) {
  if (data.size() > kMaxNumberBytes) return std::nullopt;
  std::string_view text = trim(as_text(data));
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  return parse_number<std::int64_t>(text);
}

}  // namespace headrace
