#include "headrace/mlflow/open_part.h"

#include <algorithm>
#include <tuple>

#include "headrace/base/text.h"
#include "headrace/metrics/metric_log.h"

namespace headrace::mlflow {
namespace {

constexpr std::chrono::milliseconds kPublishTime{60'000};
constexpr std::size_t kEarlierPoints = 2048;  // for each metric

Result<RunRecorder> start_log_record(const PartSurroundings& surroundings, const std::string& run_id,
                                     const std::map<std::string, std::string>& parameters,
                                     const CallOptions& call) {
  RunStart start{.command = "log", .command_line = surroundings.command_line, .parameters = parameters};
  start.versions["headrace"] = surroundings.version;
  RecorderOptions options{.root_url = surroundings.root_url, .run_id = run_id};
  options.has_output = false;
  options.continues_earlier = false;
  options.now = surroundings.now;
  options.call = call;
  HEADRACE_TRY(const Location root, surroundings.stores.open(surroundings.root_url));
  return RunRecorder::start(surroundings.stores, root, std::move(start), options);
}

void keep_last(MetricSeries& series, std::size_t most) {
  const std::size_t dropped = series.values.size() - std::min(series.values.size(), most);
  const auto drop = [dropped](auto& all) {
    all = {all.begin() + static_cast<std::ptrdiff_t>(dropped), all.end()};  // a new vector: frees memory
  };
  drop(series.steps);
  drop(series.times_us);
  drop(series.values);
}

}  // namespace

Result<std::shared_ptr<OpenPart>> OpenPart::start(const PartSurroundings& surroundings,
                                                  const std::string& run_id,
                                                  std::map<std::string, std::string> parameters,
                                                  EarlierMetrics earlier, const CallOptions& call) {
  HEADRACE_TRY(RunRecorder recorder, start_log_record(surroundings, run_id, parameters, call));
  std::shared_ptr<OpenPart> part(
      new OpenPart(std::move(recorder), std::move(parameters), std::move(earlier)));
  const Location log = part->recorder_.root().at(concat(kMetricsPrefix, part->run(), "/", part->part()));
  MetricWriterOptions options{.journal_folder = concat(surroundings.journals, "/", part->part())};
  options.is_flushed_by_caller = true;  // a batch is one write, so its answer is about its own points
  options.wall_clock = surroundings.now;
  auto writer = MetricWriter::open(log, std::move(options), surroundings.background);
  // The record tells why the part did not run.
  if (!writer) return part->recorder_.finish(writer.error(), {}).error();
  part->writer_ = *std::move(writer);
  HEADRACE_CHECK(part->recorder_.add_series(
      {.name = "metrics", .url = recorded_url(log), .kind = std::string(kSegmentsKind)}));
  return part;
}

bool OpenPart::is_sealed() const {
  const std::scoped_lock lock(logging_);
  return seals_ > 0;
}

void OpenPart::seal() {
  const std::scoped_lock lock(logging_);
  ++seals_;
}

void OpenPart::unseal() {
  const std::scoped_lock lock(logging_);
  --seals_;
}

bool OpenPart::is_finished() const {
  const std::scoped_lock lock(logging_);
  return is_finished_;
}

bool OpenPart::knows_metrics_of(std::span<const LoggedPoint> points) const {
  if (earlier_ == nullptr) return true;
  const std::scoped_lock lock(logging_);
  return std::ranges::all_of(points, [this](const LoggedPoint& each) { return metrics_.contains(each.key); });
}

Result<EarlierPoints> OpenPart::read_earlier(std::span<const LoggedPoint> points) const {
  EarlierPoints earlier;
  if (earlier_ == nullptr) return earlier;
  {
    const std::scoped_lock lock(logging_);
    for (const LoggedPoint& each : points) {
      if (!metrics_.contains(each.key)) earlier.try_emplace(std::string(each.key));
    }
  }
  for (auto& [key, series] : earlier) {
    HEADRACE_TRY(series, earlier_->read(key, 0));
    keep_last(series, kEarlierPoints);
  }
  return earlier;
}

Status OpenPart::remember(const EarlierPoints& earlier) {
  for (const auto& [key, series] : earlier) {
    if (metrics_.contains(key)) continue;  // another request has added the metric
    HEADRACE_TRY(const Metric* const metric, metric_of(key));
    for (std::size_t i = 0; i < series.values.size(); ++i) {
      recent_.insert_earlier({metric->number, series.steps[i], series.times_us[i] / 1000,
                              std::bit_cast<std::uint64_t>(series.values[i])});
    }
  }
  return {};
}

Result<OpenPart::Metric*> OpenPart::metric_of(std::string_view key) {
  if (const auto found = metrics_.find(key); found != metrics_.end()) return &found->second;
  HEADRACE_TRY(const std::uint32_t number, writer_->metric(key));
  return &metrics_.emplace(std::string(key), Metric{.number = number}).first->second;
}

// Consecutive points with the same step and time form one row.
Status OpenPart::write(std::span<const LoggedPoint> points) {
  touched_.clear();
  for (const LoggedPoint& point : points) {
    HEADRACE_TRY(touched_.emplace_back(), metric_of(point.key));
  }
  for (std::size_t i = 0; i < points.size();) {
    const std::int64_t step = points[i].step, time_ms = points[i].time_ms;
    row_.clear();
    for (; i < points.size() && points[i].step == step && points[i].time_ms == time_ms; ++i) {
      const std::uint32_t number = touched_[i]->number;
      if (recent_.insert({number, step, time_ms, std::bit_cast<std::uint64_t>(points[i].value)}))
        row_.push_back({number, points[i].value});
    }
    if (!row_.empty()) writer_->log(row_, step, time_ms * 1000);
  }
  return writer_->flush();
}

Result<bool> OpenPart::log(std::span<const LoggedPoint> points, const EarlierPoints& earlier) {
  const std::scoped_lock lock(logging_);
  if (seals_ > 0) return false;
  HEADRACE_CHECK(remember(earlier));
  const std::uint64_t dropped_before = writer_->counts().dropped;
  Status written = write(points);
  if (written && writer_->counts().dropped != dropped_before)
    written = Error{Code::kResourceExhausted, "points could not be kept on this machine; log them again"};
  if (!written) {
    recent_.forget();
    return written.error();
  }
  recent_.keep();
  is_published_ = false;
  for (std::size_t i = 0; i < points.size(); ++i) {
    Metric& metric = *touched_[i];
    const LastPoint given{points[i].step, points[i].time_ms, points[i].value};
    if (!metric.has_points || is_later(given, metric.last)) metric.last = given;
    metric.has_points = true;
  }
  return true;
}

Status OpenPart::publish() {
  {
    const std::scoped_lock lock(logging_);
    if (is_finished_ || std::exchange(is_published_, true)) return {};
  }
  Status published = writer_->publish(kPublishTime);
  if (!published) {
    const std::scoped_lock lock(logging_);
    is_published_ = false;
  }
  return published;
}

LastPoints OpenPart::last_points() const {
  LastPoints points;
  const std::scoped_lock lock(logging_);
  for (const auto& [key, metric] : metrics_) {
    if (metric.has_points) points.emplace(key, metric.last);
  }
  return points;
}

Status OpenPart::add_artifacts(const Location& folder) {
  const std::scoped_lock lock(recording_);
  if (has_artifacts_ || is_finished()) return {};
  HEADRACE_CHECK(recorder_.add_output("artifacts", folder));
  has_artifacts_ = true;
  return {};
}

Status OpenPart::finish(const Status& outcome, const std::map<std::string, std::string>& parameters) {
  seal();
  const std::scoped_lock recording(recording_);
  if (is_finished()) return {};
  // If closing fails, the record gets no end: points may still be in the journal.
  HEADRACE_CHECK(writer_->close(kPublishTime));
  RunEnd end;
  for (const auto& [key, point] : last_points()) end.metrics[key] = point.value;
  for (const auto& [key, value] : parameters) {
    const auto known = start_parameters_.find(key);
    if (known == start_parameters_.end() || known->second != value) end.parameters[key] = value;
  }
  HEADRACE_CHECK(recorder_.write_end(outcome, std::move(end)));
  const std::scoped_lock lock(logging_);
  is_finished_ = true;
  return {};
}

}  // namespace headrace::mlflow
