#pragma once

/// \file Sends spans to an OpenTelemetry collector, by OTLP over HTTP as JSON. Source: opentelemetry-proto,
/// docs/specification.md and trace.proto.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/cli/servers/serve/trace_context.h"
#include "headrace/net/http/http_client.h"

namespace headrace {

struct Span {
  using Clock = std::chrono::steady_clock;

  TraceContext context;      // of this span
  std::uint64_t parent = 0;  // 0: it has none
  std::string name;
  Clock::time_point begin{};
  Clock::time_point end{};
  bool is_server = false;  // false: a step within a server span
  bool has_failed = false;
  std::vector<std::pair<std::string, std::string>> texts{};  // attributes
  std::vector<std::pair<std::string, std::int64_t>> numbers{};
};

/// The body of an export request. `clock_offset`: the system clock's time when the steady clock was 0.
std::string spans_json(const std::deque<Span>& spans, std::chrono::nanoseconds clock_offset,
                       std::string_view version);

/// Exports spans in a thread of its own. Thread-safe. Destruction sends waiting spans, for a few seconds at
/// most.
class SpanExporter {
 public:
  struct Counts {
    std::uint64_t sent = 0;
    std::uint64_t dropped = 0;  // the collector refused them, or was too slow
  };

  /// Starts the thread. `url`: of the collector, "http://127.0.0.1:4318"; spans go to /v1/traces below it.
  /// `remark` is called from this thread when the collector begins to refuse spans, and when it takes them
  /// again.
  /// \error kInvalidArgument  as parse_http_endpoint
  static Result<std::unique_ptr<SpanExporter>> start(std::string_view url,
                                                     std::function<void(const std::string&)> remark);
  ~SpanExporter();
  SpanExporter(const SpanExporter&) = delete;
  SpanExporter& operator=(const SpanExporter&) = delete;

  /// Adds spans. Never waits. If too many spans are waiting, these are dropped.
  void add(std::vector<Span> spans);
  Counts counts() const;

 private:
  SpanExporter(HttpEndpoint collector, std::function<void(const std::string&)> remark);
  void work();
  void export_until_end();
  void send(const std::deque<Span>& spans);

  const HttpEndpoint collector_;
  const std::function<void(const std::string&)> remark_;
  HttpClient client_;
  bool is_taken_ = true;  // whether the collector takes spans; used by the thread alone

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Span> waiting_;
  bool is_ending_ = false;
  bool is_done_ = false;
  std::condition_variable has_ended_;
  std::stop_source stop_;
  Counts counts_;
  std::thread thread_;
};

}  // namespace headrace
