#include "headrace/cli/servers/serve/span_exporter.h"

#include "headrace/base/json.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::size_t kWaitingSpansMax = 8192;
constexpr std::size_t kSpansOfExport = 512;
constexpr std::chrono::milliseconds kExportEach{1'000};
constexpr std::chrono::milliseconds kCollectorPatience{5'000};
constexpr std::chrono::seconds kEndPatience{3};
constexpr std::chrono::milliseconds kConnectPatience{2'000};

// Numbers of OTLP.
constexpr int kServerKind = 2;
constexpr int kInternalKind = 1;
constexpr int kErrorStatus = 2;

Json text_attribute(std::string_view key, std::string_view value) {
  return {{"key", key}, {"value", Json{{"stringValue", value}}}};
}

// protobuf's JSON writes 64-bit numbers as texts.
Json number_attribute(std::string_view key, std::int64_t value) {
  return {{"key", key}, {"value", Json{{"intValue", concat(value)}}}};
}

std::string unix_nanoseconds(Span::Clock::time_point time, std::chrono::nanoseconds clock_offset) {
  return concat((std::chrono::nanoseconds(time.time_since_epoch()) + clock_offset).count());
}

Json span_json(const Span& span, std::chrono::nanoseconds clock_offset) {
  Json attributes = Json::array();
  for (const auto& [key, value] : span.texts) attributes.push_back(text_attribute(key, value));
  for (const auto& [key, value] : span.numbers) attributes.push_back(number_attribute(key, value));
  Json out = {{"traceId", trace_id_text(span.context)},
              {"spanId", span_id_text(span.context.span)},
              {"name", span.name},
              {"kind", span.is_server ? kServerKind : kInternalKind},
              {"startTimeUnixNano", unix_nanoseconds(span.begin, clock_offset)},
              {"endTimeUnixNano", unix_nanoseconds(span.end, clock_offset)},
              {"attributes", std::move(attributes)}};
  if (span.parent != 0) out["parentSpanId"] = span_id_text(span.parent);
  if (span.has_failed) out["status"] = Json{{"code", kErrorStatus}};
  return out;
}

std::chrono::nanoseconds system_clock_offset() {
  return std::chrono::system_clock::now().time_since_epoch() - Span::Clock::now().time_since_epoch();
}

}  // namespace

std::string spans_json(const std::deque<Span>& spans, std::chrono::nanoseconds clock_offset,
                       std::string_view version) {
  Json list = Json::array();
  for (const Span& span : spans) list.push_back(span_json(span, clock_offset));
  const Json attributes =
      Json::array({text_attribute("service.name", "headrace"), text_attribute("service.version", version)});
  const Json scope = {{"scope", Json{{"name", "headrace serve"}}}, {"spans", std::move(list)}};
  const Json resource = {{"resource", Json{{"attributes", attributes}}},
                         {"scopeSpans", Json::array({scope})}};
  return Json{{"resourceSpans", Json::array({resource})}}.dump();
}

SpanExporter::SpanExporter(HttpEndpoint collector, std::function<void(const std::string&)> remark)
    : collector_(std::move(collector)),
      remark_(std::move(remark)),
      client_({.max_connections = 1, .connect_timeout = kConnectPatience}),
      thread_([this] { work(); }) {}

Result<std::unique_ptr<SpanExporter>> SpanExporter::start(std::string_view url,
                                                          std::function<void(const std::string&)> remark) {
  HEADRACE_TRY(HttpEndpoint collector, parse_http_endpoint(url));
  return std::unique_ptr<SpanExporter>(new SpanExporter(std::move(collector), std::move(remark)));
}

SpanExporter::~SpanExporter() {
  {
    std::unique_lock lock(mutex_);
    is_ending_ = true;
    changed_.notify_all();
    has_ended_.wait_for(lock, kEndPatience, [this] { return is_done_; });
  }
  stop_.request_stop();
  thread_.join();
}

void SpanExporter::add(std::vector<Span> spans) {
  bool is_enough = false;
  {
    const std::scoped_lock lock(mutex_);
    if (waiting_.size() + spans.size() > kWaitingSpansMax) {
      counts_.dropped += spans.size();
      return;
    }
    for (Span& span : spans) waiting_.push_back(std::move(span));
    is_enough = waiting_.size() >= kSpansOfExport;
  }
  if (is_enough) changed_.notify_all();
}

SpanExporter::Counts SpanExporter::counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

void SpanExporter::work() {
  export_until_end();
  {
    const std::scoped_lock lock(mutex_);
    is_done_ = true;
  }
  has_ended_.notify_all();
}

void SpanExporter::export_until_end() {
  std::unique_lock lock(mutex_);
  while (!stop_.stop_requested()) {
    changed_.wait_for(lock, kExportEach, [this] { return is_ending_ || waiting_.size() >= kSpansOfExport; });
    if (waiting_.empty()) {
      if (is_ending_) return;
      continue;
    }
    std::deque<Span> spans;
    while (!waiting_.empty() && spans.size() < kSpansOfExport) {
      spans.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    lock.unlock();
    send(spans);
    lock.lock();
    // The server ends without waiting for a collector that takes nothing.
    if (is_ending_ && !is_taken_) return;
  }
}

void SpanExporter::send(const std::deque<Span>& spans) {
  const std::string body = spans_json(spans, system_clock_offset(), HEADRACE_VERSION);
  const auto response = client_.perform({.endpoint = collector_,
                                         .method = "POST",
                                         .target = collector_.base_path + "/v1/traces",
                                         .headers = {{"Content-Type", "application/json"}},
                                         .body = as_bytes(body),
                                         .max_body_bytes = 64 << 10,
                                         .repeatable = false,
                                         .stall_timeout = kCollectorPatience},
                                        stop_.get_token());
  const bool is_taken = response && response->is_success();
  {
    const std::scoped_lock lock(mutex_);
    (is_taken ? counts_.sent : counts_.dropped) += spans.size();
  }
  if (is_taken == is_taken_) return;
  is_taken_ = is_taken;
  if (is_taken) return remark_(concat("--trace: ", collector_.text(), " takes spans again"));
  remark_(concat("--trace: ", collector_.text(), " takes no spans: ",
                 response ? concat("status ", response->status) : response.error().message));
}

}  // namespace headrace
