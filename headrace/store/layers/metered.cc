#include "headrace/store/layers/metered.h"

#include <algorithm>
#include <utility>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using Labels = std::map<std::string, std::string>;

// One metric: its two header lines and its samples.
class PrometheusMetric {
 public:
  PrometheusMetric(std::string_view name, std::string_view type, std::string_view help, Labels labels)
      : name_(name),
        labels_(std::move(labels)),
        text_(concat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n")) {}

  template <typename Number>
  void add(std::string_view suffix, const Labels& own, Number value) {
    Labels all = labels_;
    for (const auto& [label, text] : own) all[label] = text;
    std::string shown;
    for (const auto& [label, text] : all)
      shown += concat(shown.empty() ? "" : ",", label, "=\"", escaped(text), "\"");
    text_ += concat(name_, suffix, shown.empty() ? "" : concat("{", shown, "}"), " ", value, "\n");
  }
  const std::string& text() const { return text_; }

 private:
  static std::string escaped(std::string_view value) {
    std::string out;
    for (const char c : value) {
      if (c == '\\' || c == '"') out += '\\';
      out += c == '\n' ? "\\n" : std::string(1, c);
    }
    return out;
  }

  const std::string name_;
  const Labels labels_;
  std::string text_;
};

void add_histogram(PrometheusMetric& metric, const std::string& operation, const OperationMetrics& counts) {
  std::uint64_t calls = 0;
  for (std::size_t i = 0; i < counts.latencies.size(); ++i) {
    calls += counts.latencies[i];
    const std::string bound = i < kLatencyBounds.size() ? concat(kLatencyBounds[i]) : "+Inf";
    metric.add("_bucket", {{"operation", operation}, {"le", bound}}, calls);
  }
  metric.add("_sum", {{"operation", operation}}, counts.seconds);
  metric.add("_count", {{"operation", operation}}, counts.calls);
}

class MeteredStore final : public InterceptingStore {
 public:
  MeteredStore(std::shared_ptr<Store> store, std::shared_ptr<StoreMetrics> metrics)
      : InterceptingStore(std::move(store)), metrics_(std::move(metrics)) {}

 private:
  Status around(StoreCall& call, const std::function<Status()>& go_on) override {
    const auto start = std::chrono::steady_clock::now();
    Status status = go_on();
    metrics_->add(call.operation, status, call.moved_bytes, std::chrono::steady_clock::now() - start);
    return status;
  }

  const std::shared_ptr<StoreMetrics> metrics_;
};

}  // namespace

void StoreMetrics::add(StoreOperation operation, const Status& status, std::uint64_t moved_bytes,
                       std::chrono::steady_clock::duration time) {
  const double seconds = std::chrono::duration<double>(time).count();
  const auto* bound = std::lower_bound(kLatencyBounds.begin(), kLatencyBounds.end(), seconds);
  const std::scoped_lock lock(mutex_);
  OperationMetrics& counts = operations_[static_cast<std::size_t>(operation)];
  ++counts.calls;
  ++counts.latencies[static_cast<std::size_t>(bound - kLatencyBounds.begin())];
  counts.seconds += seconds;
  if (status) counts.moved_bytes += moved_bytes;
  if (!status) ++counts.errors[status.error().code];
}

OperationMetrics StoreMetrics::of(StoreOperation operation) const {
  const std::scoped_lock lock(mutex_);
  return operations_[static_cast<std::size_t>(operation)];
}

std::string StoreMetrics::prometheus(const std::map<std::string, std::string>& labels) const {
  PrometheusMetric seconds("headrace_store_call_seconds", "histogram", "How long calls took.", labels);
  PrometheusMetric errors("headrace_store_errors_total", "counter", "Calls that failed.", labels);
  PrometheusMetric bytes("headrace_store_bytes_total", "counter", "Bytes read and written.", labels);
  for (std::size_t i = 0; i < kStoreOperations; ++i) {
    const auto operation = static_cast<StoreOperation>(i);
    const OperationMetrics counts = of(operation);
    const std::string name(operation_name(operation));
    if (counts.calls == 0) continue;
    add_histogram(seconds, name, counts);
    bytes.add("", {{"operation", name}}, counts.moved_bytes);
    for (const auto& [code, count] : counts.errors)
      errors.add("", {{"operation", name}, {"code", std::string(code_name(code))}}, count);
  }
  return seconds.text() + errors.text() + bytes.text();
}

std::string prometheus_of(const std::vector<StoreCounter>& counters,
                          const std::map<std::string, std::string>& labels) {
  std::string text;
  for (const StoreCounter& counter : counters) {
    PrometheusMetric metric(concat("headrace_store_", counter.name), "counter", counter.help, labels);
    metric.add("", {}, counter.value);
    text += metric.text();
  }
  return text;
}

std::unique_ptr<Store> make_metered(std::shared_ptr<Store> store, std::shared_ptr<StoreMetrics> metrics) {
  return std::make_unique<MeteredStore>(std::move(store), std::move(metrics));
}

Location make_metered(Location location, std::shared_ptr<StoreMetrics> metrics) {
  location.store = make_metered(std::move(location.store), std::move(metrics));
  return location;
}

}  // namespace headrace
