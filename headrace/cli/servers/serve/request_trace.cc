#include "headrace/cli/servers/serve/request_trace.h"

#include <algorithm>

#include "headrace/base/environment.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

// An id of zeros means that there is none.
std::uint64_t new_trace_id() { return std::max<std::uint64_t>(random_name_bits(), 1); }

}  // namespace

RequestTrace::RequestTrace(SpanExporter* exporter, const TraceContext& context, std::uint64_t parent,
                           Clock::time_point received)
    : exporter_(exporter), context_(context), parent_(parent), received_(received), last_(received) {}

void RequestTrace::mark(std::string_view step, Clock::time_point end) {
  if (exporter_ == nullptr) return;
  TraceContext context = context_;
  context.span = new_trace_id();
  spans_.push_back(
      {.context = context, .parent = context_.span, .name = std::string(step), .begin = last_, .end = end});
  last_ = end;
}

void RequestTrace::end(std::string_view protocol, std::string_view model, std::uint64_t version,
                       unsigned status) {
  if (exporter_ == nullptr) return;
  if (status < 400) mark("encode");
  Span span{.context = context_,
            .parent = parent_,
            .name = model.empty() ? std::string(protocol) : concat(protocol, " ", model),
            .begin = received_,
            .end = Clock::now(),
            .is_server = true,
            .has_failed = status >= 500};
  span.texts.emplace_back("protocol", protocol);
  if (!model.empty()) span.texts.emplace_back("model.name", model);
  if (version != 0) span.numbers.emplace_back("model.version", static_cast<std::int64_t>(version));
  span.numbers.emplace_back("http.response.status_code", status);
  spans_.push_back(std::move(span));
  exporter_->add(std::move(spans_));
}

std::unique_ptr<RequestTrace> RequestTracer::begin(std::optional<std::string_view> traceparent,
                                                   RequestTrace::Clock::time_point received) const {
  const auto given = traceparent ? parse_traceparent(*traceparent) : std::nullopt;
  if (given) {
    TraceContext context = *given;
    context.span = new_trace_id();
    return std::make_unique<RequestTrace>(given->is_sampled ? &exporter_ : nullptr, context, given->span,
                                          received);
  }
  if (share_ <= 0 || static_cast<double>(random_name_bits()) >= share_ * 0x1p64) return nullptr;
  const TraceContext context{new_trace_id(), new_trace_id(), new_trace_id(), true};
  return std::make_unique<RequestTrace>(&exporter_, context, 0, received);
}

std::string RequestTracer::metrics_text() const {
  const SpanExporter::Counts counts = exporter_.counts();
  return concat(
      "# HELP headrace_serve_spans_total spans of traces, as the collector took them\n"
      "# TYPE headrace_serve_spans_total counter\n"
      "headrace_serve_spans_total{outcome=\"sent\"} ",
      counts.sent, "\nheadrace_serve_spans_total{outcome=\"dropped\"} ", counts.dropped, "\n");
}

}  // namespace headrace
