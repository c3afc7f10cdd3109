#include "headrace/cli/servers/serve/serving_metrics.h"

#include <cmath>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/servers/serve/models_status.h"
#include "headrace/cli/servers/serve/prometheus_text.h"

namespace headrace {
namespace {

using prometheus::add_type;
using prometheus::label;

constexpr double kFirstBucketS = 10e-6;
constexpr double kBucketGrowth = 1.8;

std::string number(double value) { return Json(value).dump(); }

// TensorFlow Serving's name for the protocol of a request.
std::string_view entry_point(std::string_view protocol) {
  return protocol.find("grpc") == protocol.npos ? "REST" : "GRPC";
}

std::string_view tensorflow_status(unsigned status) { return status < 400 ? "OK" : "ERROR"; }

void add_request_log(const RequestLog& log, std::string& out) {
  const auto counts = log.counts();
  add_type("headrace_serve_logged_requests_total", "counter", "requests in the log", out);
  for (const auto& [model, count] : counts)
    out += concat("headrace_serve_logged_requests_total{", label("model", model), "} ", count.logged, "\n");
  add_type("headrace_serve_unlogged_requests_total", "counter",
           "requests of the sample that are not in the log, since too much waited for the store", out);
  for (const auto& [model, count] : counts)
    out +=
        concat("headrace_serve_unlogged_requests_total{", label("model", model), "} ", count.dropped, "\n");
  add_type("headrace_serve_request_log_waiting_bytes", "gauge", "bytes of the log that wait for the store",
           out);
  out += concat("headrace_serve_request_log_waiting_bytes ", log.waiting_bytes(), "\n");
}

}  // namespace

void ServingMetrics::count(std::string_view model, std::string_view protocol, std::string_view api,
                           unsigned status, std::chrono::steady_clock::duration took) {
  const double seconds = std::chrono::duration<double>(took).count();
  const double place = std::log(std::max(seconds, kFirstBucketS) / kFirstBucketS) / std::log(kBucketGrowth);
  const auto bucket = std::min(static_cast<std::size_t>(std::ceil(place)), kBuckets);
  const std::scoped_lock lock(mutex_);
  Latency& latency = latencies_[{std::string(model), std::string(protocol), std::string(api), status}];
  ++latency.counts[bucket];
  latency.sum_s += seconds;
}

std::map<std::string, ModelTraffic> ServingMetrics::traffic() const {
  std::map<std::string, ModelTraffic> out;
  const std::scoped_lock lock(mutex_);
  for (const auto& [key, latency] : latencies_) {
    ModelTraffic& model = out[key.model];
    model.latencies.resize(latency.counts.size());
    for (std::size_t i = 0; i < latency.counts.size(); ++i) {
      model.latencies[i] += latency.counts[i];
      model.statuses[key.status] += latency.counts[i];
    }
  }
  return out;
}

std::vector<double> ServingMetrics::latency_ends_s() {
  std::vector<double> out;
  for (double end = kFirstBucketS; out.size() < kBuckets; end *= kBucketGrowth) out.push_back(end);
  return out;
}

std::string ServingMetrics::text(const ServedModels& models, const HttpServerCounts& http) const {
  std::string out;
  const auto add_latencies = [&](std::string_view name, double unit, const auto& labels) {
    for (const auto& [key, latency] : latencies_) {
      std::uint64_t total = 0;
      double end = kFirstBucketS * unit;
      for (std::size_t i = 0; i < kBuckets; ++i, end *= kBucketGrowth) {
        total += latency.counts[i];
        out += concat(name, "_bucket{", labels(key), ",le=\"", number(end), "\"} ", total, "\n");
      }
      total += latency.counts[kBuckets];
      out +=
          concat(name, "_bucket{", labels(key), ",le=\"+Inf\"} ", total, "\n", name, "_sum{", labels(key),
                 "} ", number(latency.sum_s * unit), "\n", name, "_count{", labels(key), "} ", total, "\n");
    }
  };
  {
    const std::scoped_lock lock(mutex_);
    add_type("headrace_serve_request_seconds", "histogram", "time from a request's head to its answer", out);
    add_latencies("headrace_serve_request_seconds", 1, [](const Key& key) {
      return concat(label("model", key.model), ",", label("protocol", key.protocol), ",",
                    label("api", key.api), ",", label("status", concat(key.status)));
    });
    add_type(":tensorflow:serving:request_count", "counter", "requests", out);
    std::map<std::pair<std::string, std::string_view>, std::uint64_t> counts;
    for (const auto& [key, latency] : latencies_) {
      auto& count = counts[{key.model, tensorflow_status(key.status)}];
      for (const std::uint64_t each : latency.counts) count += each;
    }
    for (const auto& [key, count] : counts)
      out += concat(":tensorflow:serving:request_count{", label("model_name", key.first), ",",
                    label("status", key.second), "} ", count, "\n");
    add_type(":tensorflow:serving:request_latency", "histogram", "microseconds of a request", out);
    add_latencies(":tensorflow:serving:request_latency", 1e6, [](const Key& key) {
      return concat(label("model_name", key.model), ",", label("API", key.api), ",",
                    label("entrypoint", entry_point(key.protocol)), ",", label("protocol", key.protocol), ",",
                    label("status", concat(key.status)));
    });
  }
  add_type("headrace_serve_version_state", "gauge", "1 for the state of each version", out);
  for (const auto& [name, model] : models.all()) {
    for (const VersionStatus& status : model->statuses())
      out += concat("headrace_serve_version_state{", label("model", name), ",version=\"", status.number,
                    "\",", label("state", version_state_name(status.state)), "} 1\n");
  }
  add_type("headrace_serve_batches_total", "counter", "batches that were run", out);
  add_type("headrace_serve_rows_total", "counter", "rows in them", out);
  add_type("headrace_serve_waiting_rows", "gauge", "rows that wait for a batch to be run", out);
  for (const auto& [name, model] : models.all()) {
    for (const auto& version : model->ready_versions()) {
      const std::vector<Batcher::Counts> counts = version->counts();
      for (std::size_t i = 0; i < counts.size(); ++i) {
        const std::string labels = concat("{", label("model", name), ",version=\"", version->number(), "\",",
                                          label("signature", version->model().signatures[i].name), "} ");
        out += concat("headrace_serve_batches_total", labels, counts[i].batches, "\n");
        out += concat("headrace_serve_rows_total", labels, counts[i].rows, "\n");
        out += concat("headrace_serve_waiting_rows", labels, counts[i].waiting_rows, "\n");
      }
    }
  }
  if (const RequestLog* const log = models.request_log()) add_request_log(*log, out);
  add_type("headrace_serve_connections", "gauge", "open connections", out);
  out += concat("headrace_serve_connections ", http.connections, "\n");
  add_type("headrace_serve_bytes_in_flight", "gauge", "bytes of bodies and answers in memory", out);
  out += concat("headrace_serve_bytes_in_flight ", http.bytes_in_flight, "\n");
  add_type("headrace_serve_refused_requests_total", "counter", "requests that passed a bound", out);
  out += concat("headrace_serve_refused_requests_total ", http.refused_requests, "\n");
  return out + release_metrics(models);
}

}  // namespace headrace
