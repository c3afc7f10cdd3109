#pragma once

/// \file The steps of a request, as spans of a trace. docs/decisions/serving.md, "Tracing".

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/cli/servers/serve/span_exporter.h"
#include "headrace/cli/servers/serve/trace_context.h"

namespace headrace {

/// One thread at a time.
class RequestTrace {
 public:
  using Clock = Span::Clock;

  /// `context`: of this request's span. `exporter`: borrowed; null: nothing is recorded, the request only has
  /// its place in a trace.
  RequestTrace(SpanExporter* exporter, const TraceContext& context, std::uint64_t parent,
               Clock::time_point received);

  /// For the answer: this request's place.
  std::string traceparent() const { return format_traceparent(context_); }

  /// A step of the request ends: it began where the one before ended, the first when the head had come.
  void mark(std::string_view step, Clock::time_point end = Clock::now());
  /// The request was answered: `status` of HTTP, `version` 0 if none was found. The last step, "encode", ends
  /// if the request had an answer. Call it once.
  void end(std::string_view protocol, std::string_view model, std::uint64_t version, unsigned status);

 private:
  SpanExporter* const exporter_;
  const TraceContext context_;
  const std::uint64_t parent_;
  const Clock::time_point received_;
  Clock::time_point last_;
  std::vector<Span> spans_;
};

/// Decides which requests are traced. Thread-safe.
class RequestTracer {
 public:
  /// Borrows it. `share`: of the requests that come without a trace; 0 to 1.
  RequestTracer(SpanExporter& exporter, double share) : exporter_(exporter), share_(share) {}

  /// `traceparent`: the header of that name. Null: the request is not traced.
  std::unique_ptr<RequestTrace> begin(std::optional<std::string_view> traceparent,
                                      RequestTrace::Clock::time_point received) const;

  /// Counters of spans, in Prometheus' format.
  std::string metrics_text() const;

 private:
  SpanExporter& exporter_;
  const double share_;
};

}  // namespace headrace
