#include "headrace/history/history.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include "headrace/base/iso_time.h"

namespace headrace {

namespace {

constexpr std::string_view kEventFilesKind = "event_files";
constexpr std::string_view kMediaSeries = "media";  // never has numbers

// Returns the second after the end of the part.
std::optional<std::int64_t> end_of(const RunPart& part) {
  const auto ended = part.end ? parse_iso_time(part.end->ended) : std::nullopt;
  if (!ended) return std::nullopt;
  const auto after = ended->time_since_epoch() + std::chrono::seconds(1);
  return std::chrono::duration_cast<std::chrono::microseconds>(after).count();
}

Result<std::shared_ptr<const EventMetrics>> read_events(const RunEventFolder& folder,
                                                        const HistorySource& source, bool verifies) {
  std::mutex mutex;
  Status damage;
  const auto warn = [&](const std::string& message) {
    const std::scoped_lock lock(mutex);
    if (damage) damage = Error{Code::kDataLoss, message};
    if (!verifies) source.warn(message);
  };
  HEADRACE_TRY(const Location location, source.open(folder.series.url));
  const auto events = std::make_shared<EventMetrics>(
      folder.series.name, location, EventMetricsOptions{.until_us = folder.until_us, .warn = warn});
  HEADRACE_CHECK(events->read_all(source.call));
  if (verifies) HEADRACE_CHECK(std::move(damage));
  return std::shared_ptr<const EventMetrics>(events);
}

}  // namespace

const std::vector<RunSeries>& series_of(const RunPart& part) {
  return part.end ? part.end->series : part.so_far.series;
}

std::vector<RunEventFolder> event_folders_of(const RunRecord& run) {
  std::vector<RunEventFolder> folders;
  for (const RunPart& part : run.parts) {
    const std::optional<std::int64_t> until_us = end_of(part);
    for (const RunSeries& series : series_of(part)) {
      if (series.kind != kEventFilesKind || series.name == kMediaSeries) continue;
      const auto known = std::ranges::find(folders, series.url,
                                           [](const RunEventFolder& folder) { return folder.series.url; });
      if (known == folders.end()) {
        folders.push_back({part.start.rank, series, until_us});
      } else if (known->until_us) {
        known->until_us = until_us ? std::max(*known->until_us, *until_us) : until_us;
      }
    }
  }
  return folders;
}

Result<RunMetrics> metrics_of(const RunRecord& run, const HistorySource& source,
                              const HistoryOptions& options) {
  std::vector<PartLog> parts;
  for (const RunPart& part : run.parts) {
    for (const RunSeries& series : series_of(part)) {
      if (series.kind != kSegmentsKind || !options.reads_segments) continue;
      HEADRACE_TRY(const Location location, source.open(series.url));
      HEADRACE_TRY(MetricLog log, MetricLog::open(location, source.call));
      if (options.verifies) HEADRACE_CHECK(log.verify());
      parts.push_back({part.start.rank, std::move(log)});
    }
  }
  std::vector<PartEvents> events;
  for (const RunEventFolder& folder : event_folders_of(run)) {
    if (options.left_out.contains(folder.series.url)) continue;
    HEADRACE_TRY(std::shared_ptr<const EventMetrics> read, read_events(folder, source, options.verifies));
    events.push_back({folder.rank, std::move(read)});
  }
  return RunMetrics(std::move(parts), std::move(events));
}

bool end_has_all_metrics(const RunRecord& run) {
  return run.end && run.end->metrics.size() < kMostFinalMetrics;
}

Result<std::map<std::string, double>> last_values(const RunRecord& run, const HistorySource& source) {
  std::map<std::string, double> values = run.end ? run.end->metrics : std::map<std::string, double>();
  HEADRACE_TRY(const RunMetrics logged,
               metrics_of(run, source, {.reads_segments = !end_has_all_metrics(run)}));
  HEADRACE_TRY(const std::vector<MetricSummary> summaries, logged.summaries());
  for (const MetricSummary& metric : summaries) {
    if (!metric.name.starts_with(kSystemMetrics)) values.emplace(metric.name, metric.last);
  }
  return values;
}

}  // namespace headrace
