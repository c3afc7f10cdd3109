#pragma once

/// \file The place of a request in a trace across programs, as W3C Trace Context defines it. Source:
/// w3.org/TR/trace-context, section 3.2.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headrace {

struct TraceContext {
  std::uint64_t trace_high = 0;  // the first eight of the 16 bytes of the trace's id
  std::uint64_t trace_low = 0;
  std::uint64_t span = 0;
  bool is_sampled = false;
  bool operator==(const TraceContext&) const = default;
};

/// Parses a header `traceparent`: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01". None: it is not
/// valid, and must be ignored.
std::optional<TraceContext> parse_traceparent(std::string_view text);
std::string format_traceparent(const TraceContext& context);

/// 32 and 16 hexadecimal digits.
std::string trace_id_text(const TraceContext& context);
std::string span_id_text(std::uint64_t span);

}  // namespace headrace
