#include "headrace/mlflow/byte_range.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace::mlflow {

Result<ByteRange> parse_byte_range(std::string_view header, std::uint64_t whole) {
  constexpr std::string_view kUnit = "bytes=";
  const ByteRange all{0, whole};
  if (!header.starts_with(kUnit)) return all;
  header.remove_prefix(kUnit.size());
  const std::size_t dash = header.find('-');
  if (dash == header.npos) return all;
  const std::string_view first_text = header.substr(0, dash), last_text = header.substr(dash + 1);
  const auto first = parse_number<std::uint64_t>(first_text);
  const auto last = parse_number<std::uint64_t>(last_text);
  if ((!first && !first_text.empty()) || (!last && !last_text.empty()) || (!first && !last)) return all;
  if (first && last && *last < *first) return all;
  ByteRange range;
  if (!first) {
    range = {whole - std::min(*last, whole), std::min(*last, whole)};
  } else if (*first < whole) {
    range = {*first, std::min(last.value_or(whole - 1), whole - 1) - *first + 1};
  }
  if (range.size > 0) return range;
  return Error{Code::kOutOfRange,
               concat("the range begins after the end of the artifact, which has ", whole, " bytes")};
}

}  // namespace headrace::mlflow
