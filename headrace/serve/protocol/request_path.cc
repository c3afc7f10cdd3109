#include "headrace/serve/protocol/request_path.h"

#include <charconv>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::size_t kUsualParts = 8;

}  // namespace

std::optional<std::vector<std::string_view>> split_path(std::string_view path) {
  path = path.substr(0, path.find('?'));
  if (!path.starts_with('/')) return std::nullopt;
  std::vector<std::string_view> parts;
  parts.reserve(kUsualParts);
  for (std::size_t begin = 1;;) {
    const std::size_t end = path.find('/', begin);
    parts.push_back(path.substr(begin, end - begin));
    if (end == path.npos) return parts;
    begin = end + 1;
  }
}

std::string decode_percent(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char code = 0;
    const char* const begin = text.data() + i + 1;
    if (text[i] == '%' && text.size() - i > 2 &&
        std::from_chars(begin, begin + 2, code, 16).ptr == begin + 2) {
      out += static_cast<char>(code);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower_case) {
  return text.size() == lower_case.size() && to_lower(text) == lower_case;
}

bool is_version_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

Result<std::int64_t> parse_version(std::string_view digits) {
  if (const auto version = parse_number<std::int64_t>(digits)) return *version;
  return Error{Code::kInvalidArgument,
               concat("Failed to convert version: ", printable_line(digits, 60), " to numeric.")};
}

}  // namespace headrace
