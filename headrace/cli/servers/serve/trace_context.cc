#include "headrace/cli/servers/serve/trace_context.h"

#include <algorithm>
#include <charconv>

#include "headrace/base/text.h"

namespace headrace {
namespace {

// "00-" trace "-" span "-" flags
constexpr std::size_t kVersionDigits = 2;
constexpr std::size_t kTraceBegin = 3;
constexpr std::size_t kSpanBegin = 36;
constexpr std::size_t kFlagsBegin = 53;
constexpr std::size_t kTraceparentSize = 55;

// Lower-case digits only.
std::optional<std::uint64_t> parse_hexadecimal(std::string_view text) {
  const auto is_digit = [](char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
  };
  std::uint64_t value = 0;
  if (!std::ranges::all_of(text, is_digit)) return std::nullopt;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

}  // namespace

std::optional<TraceContext> parse_traceparent(std::string_view text) {
  if (text.size() < kTraceparentSize) return std::nullopt;
  const auto version = parse_hexadecimal(text.substr(0, kVersionDigits));
  if (!version || *version == 0xff) return std::nullopt;
  // A later version may have more text after this.
  const bool is_longer = text.size() > kTraceparentSize;
  if (is_longer && (*version == 0 || text[kTraceparentSize] != '-')) return std::nullopt;
  if (text[kTraceBegin - 1] != '-' || text[kSpanBegin - 1] != '-' || text[kFlagsBegin - 1] != '-')
    return std::nullopt;
  const auto high = parse_hexadecimal(text.substr(kTraceBegin, 16));
  const auto low = parse_hexadecimal(text.substr(kTraceBegin + 16, 16));
  const auto span = parse_hexadecimal(text.substr(kSpanBegin, 16));
  const auto flags = parse_hexadecimal(text.substr(kFlagsBegin, 2));
  if (!high || !low || !span || !flags || (*high | *low) == 0 || *span == 0) return std::nullopt;
  return TraceContext{*high, *low, *span, (*flags & 1) != 0};
}

std::string format_traceparent(const TraceContext& context) {
  return concat("00-", trace_id_text(context), "-", span_id_text(context.span), "-",
                context.is_sampled ? "01" : "00");
}

std::string trace_id_text(const TraceContext& context) {
  return concat(hex64(context.trace_high), hex64(context.trace_low));
}

std::string span_id_text(std::uint64_t span) { return hex64(span); }

}  // namespace headrace
