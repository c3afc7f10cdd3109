#pragma once

/// \file Records the steps of a request as spans of a trace. docs/decisions/serving.md, "Tracing".

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

/// The trace of one request. Not thread-safe.
class RequestTrace {
 public:
  using Clock = Span::Clock;

  /// \param exporter  borrowed; null: nothing is recorded, and the request only has its place in a trace
  /// \param context   of this request's span
  /// \param parent    id of the parent span; 0: none
  RequestTrace(SpanExporter* exporter, const TraceContext& context, std::uint64_t parent,
               Clock::time_point received);

  /// This request's place in the trace, for the answer's header.
  std::string traceparent() const { return format_traceparent(context_); }

  /// Ends a step of the request. The step began where the previous one ended; the first step began when the
  /// head had arrived.
  void mark(std::string_view step, Clock::time_point end = Clock::now());
  /// Ends the trace, after the request was answered. `status`: the HTTP status; `version`: 0 if none was
  /// found. Ends the last step, "encode", if the request had an answer. Call it once.
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
  /// `exporter` must outlive this. `share`: of requests without a trace of their own, 0 to 1.
  RequestTracer(SpanExporter& exporter, double share) : exporter_(exporter), share_(share) {}

  /// Begins the trace of a request. `traceparent`: the header of that name. Null: the request is not traced.
  std::unique_ptr<RequestTrace> begin(std::optional<std::string_view> traceparent,
                                      RequestTrace::Clock::time_point received) const;

  /// Counters of spans, in Prometheus' format.
  std::string metrics_text() const;

 private:
  SpanExporter& exporter_;
  const double share_;
};

}  // namespace headrace
