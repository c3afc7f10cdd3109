#include "headrace/run_import/imported_record.h"

#include <bit>
#include <limits>
#include <set>

#include "headrace/artifact/artifact.h"
#include "headrace/base/digest.h"
#include "headrace/base/iso_time.h"
#include "headrace/base/text.h"
#include "headrace/metrics/metric_log.h"
#include "headrace/metrics/metric_writer.h"
#include "headrace/track/catalog.h"
#include "headrace/track/recorder.h"
#include "headrace/track/run_keys.h"
#include "headrace/track/runs.h"

namespace headrace {
namespace {

constexpr std::string_view kCommand = "import";
constexpr std::string_view kArtifactType = "imported";

struct KnownParts {
  bool is_imported = false;       // a part has ended
  std::set<std::string> names{};  // of all parts, if none has ended
};

Result<KnownParts> known_parts(const Location& root, const std::string& id, const CallOptions& call) {
  const std::string prefix = folder_prefix(root.at(concat(kRunPartsPrefix, id)).key);
  KnownParts known;
  HEADRACE_CHECK(root.store->list(prefix, {.call = call}, [&](const ObjectInfo& object) {
    const std::string name = object.key.substr(prefix.size());
    known.names.insert(name.substr(0, name.find('/')));
    known.is_imported = name.ends_with("/end");
    return !known.is_imported;
  }));
  return known;
}

void add_little_endian(Sha256& digest, std::uint64_t number) {
  Bytes bytes(8);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(number >> (8 * i));
  digest.update(bytes);
}

Bytes points_digest(const MetricJournalFile& file) {
  Sha256 digest;
  for (const MetricPoint& point : file.points) {
    add_little_endian(digest, static_cast<std::uint64_t>(point.step));
    add_little_endian(digest, static_cast<std::uint64_t>(point.time_us));
    add_little_endian(digest, std::bit_cast<std::uint64_t>(point.value));
    const std::string& name = file.names[point.metric];
    digest.update(as_bytes(std::string_view(name.c_str(), name.size() + 1)));
  }
  return digest.finish();
}

}  // namespace

ImportedRecord::ImportedRecord(const Location& root, ImportedRun run, ImportOptions options)
    : root_(root), run_(std::move(run)), options_(std::move(options)), id_(imported_run_id(run_)) {}

Result<std::optional<ImportedRecord>> ImportedRecord::begin(const Location& root, ImportedRun run,
                                                            ImportOptions options) {
  ImportedRecord record(root, std::move(run), std::move(options));
  HEADRACE_TRY(const KnownParts known, known_parts(root, record.id_, record.options_.call));
  if (known.is_imported) return std::optional<ImportedRecord>();
  record.part_ = imported_part_name(record.run_, known.names);
  // The points of earlier attempts, whose names sort after this one, are all imported again.
  if (!known.names.empty() && *known.names.rbegin() > record.part_)
    record.held_.head.from_step = std::numeric_limits<std::int64_t>::min();
  const ImportedRun& imported = record.run_;
  RunStart start{.command = std::string(kCommand),
                 .command_line = record.options_.command_line,
                 .parameters = imported_parameters(imported)};
  start.versions = record.options_.versions;
  start.started = format_time_ms(recordable_time(imported.started));
  start.remarks = imported.remarks;
  start.inputs = {{.url = imported.place, .kind = imported.source, .name = "source"}};
  const CatalogEntry entry{start.command, record.part_, record.id_};
  HEADRACE_CHECK(
      add_to_catalog(root, CatalogIndex::kInput, start.inputs.front(), entry, record.options_.call));
  HEADRACE_CHECK(record.create("start", serialize_run_start(record.id_, start)));
  return std::optional(std::move(record));
}

// If another import has created the object already, that is no error.
Status ImportedRecord::create(std::string_view object, const std::string& text) const {
  if (text.size() > kRunRecordLimitBytes)
    return Error{Code::kInvalidArgument, concat("the record would have ", text.size(), " bytes, more than ",
                                                kRunRecordLimitBytes, ": params and tags are too large")};
  const Location at = root_.at(part_key(id_, part_, object));
  const auto written = write_text(*at.store, at.key, text, {.only_if_absent = true, .call = options_.call});
  if (!written && written.error().code != Code::kAlreadyExists) return written.error();
  return {};
}

Location ImportedRecord::folder_below(std::string_view prefix) const {
  return root_.at(concat(prefix, id_, "/", part_));
}

Status ImportedRecord::add_series(RunSeries series) {
  HEADRACE_CHECK(create(concat("series/", series.name), serialize_run_series(id_, series)));
  end_.series.push_back(std::move(series));
  return {};
}

Status ImportedRecord::add_points(std::string_view metric, std::span<const std::int64_t> steps,
                                  std::span<const std::int64_t> times_us, std::span<const double> values) {
  if (metric.empty() || metric.size() > kMetricNameBytes || !is_valid_utf8(metric))
    return Error{Code::kInvalidArgument, concat("the name of a metric must be UTF-8 text of 1 to ",
                                                kMetricNameBytes, " bytes: ", metric)};
  if (values.empty()) return {};
  if (last_.empty()) {
    HEADRACE_CHECK(add_series(
        {.name = "metrics", .url = recorded_url(folder_below(kMetricsPrefix)), .kind = "metric_segments"}));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto [found, is_new] =
        numbers_.try_emplace(std::string(metric), static_cast<std::uint32_t>(held_.names.size()));
    if (is_new) held_.names.emplace_back(metric);
    held_.points.push_back({found->second, steps[i], times_us[i], values[i]});
    if (held_.points.size() == kMostSegmentPoints) HEADRACE_CHECK(write_segment(false));
  }
  last_.insert_or_assign(std::string(metric), values.back());
  return {};
}

Status ImportedRecord::write_segment(bool is_end) {
  held_.is_end = is_end;
  held_.digest = points_digest(held_);
  HEADRACE_TRY(previous_,
               write_segment_of(held_, segments_, previous_, folder_below(kMetricsPrefix), options_.call));
  ++segments_;
  held_ = {};
  numbers_.clear();
  return {};
}

Result<Location> ImportedRecord::add_event_files() {
  Location folder = folder_below(kMediaPrefix).at("events");
  HEADRACE_CHECK(add_series({.name = "events", .url = recorded_url(folder), .kind = "event_files"}));
  return folder;
}

Result<ArtifactDraft> ImportedRecord::draft() const { return ArtifactDraft::make(id_, kArtifactType); }

Status ImportedRecord::add_files(const ArtifactDraft& files) {
  if (files.size() == 0) return {};
  HEADRACE_TRY(const ArtifactVersion version, log_artifact(root_, files, id_, options_.now, options_.call));
  Artifact output = recorded_artifact(root_, version);
  output.name = "files";
  const CatalogEntry entry{std::string(kCommand), part_, id_};
  HEADRACE_CHECK(add_to_catalog(root_, CatalogIndex::kOutput, output, entry, options_.call));
  HEADRACE_CHECK(create("outputs/files", serialize_run_output(id_, output)));
  end_.outputs.push_back(std::move(output));
  return {};
}

Status ImportedRecord::finish() {
  if (!last_.empty()) HEADRACE_CHECK(write_segment(true));
  for (const auto& [name, value] : last_) {
    if (end_.metrics.size() < kMostFinalMetrics) end_.metrics[name] = value;
  }
  for (const auto& [name, value] : run_.metrics) end_.metrics[name] = value;
  end_.status = run_.status;
  end_.error = run_.error;
  if (run_.status == RunStatus::kUnfinished) {
    end_.status = RunStatus::kStopped;
    end_.error = concat("the run had not ended in its source, ", run_.source, ", when it was imported");
  }
  const auto started = recordable_time(run_.started);
  const auto ended = recordable_time(run_.ended.value_or(run_.started));
  end_.ended = format_time_ms(ended);
  end_.seconds = std::chrono::duration<double>(ended - started).count();
  return create("end", serialize_run_end(id_, end_));
}

}  // namespace headrace
