#include "headrace/events/run.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/record/event_scalar.h"

namespace headrace {
namespace {

bool lies_in(BytesView part, BytesView whole) {
  return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

BlobSequence references(std::span<const BytesView> blobs, const StreamEvent& event,
                        const std::shared_ptr<const std::string>& key) {
  BlobSequence out{key, {}};
  out.blobs.reserve(std::min(blobs.size(), BlobSequence::kMaxBlobs));
  for (const BytesView blob : blobs.first(std::min(blobs.size(), BlobSequence::kMaxBlobs))) {
    if (!blob.empty() && lies_in(blob, event.record)) {
      const auto place = static_cast<std::uint64_t>(blob.data() - event.record.data());
      out.blobs.push_back({event.offset_bytes + place, blob.size(), crc32c(blob), {}});
    } else {
      out.blobs.push_back({0, blob.size(), crc32c(blob), to_string(blob)});
    }
  }
  return out;
}

}  // namespace

Series* Run::find(std::string_view tag) {
  Entry* const guess = latest_ == nullptr ? nullptr : latest_->follower;
  if (guess != nullptr && guess->tag == tag) {
    latest_ = guess;
    return guess->series.get();
  }
  const auto found = series_.find(tag);
  if (found == series_.end()) return nullptr;
  if (latest_ != nullptr) latest_->follower = &found->second;
  latest_ = &found->second;
  return latest_->series.get();
}

Series* Run::create(std::string_view tag, const SeriesKind& kind, const MetadataView& metadata) {
  const auto place = series_.try_emplace(std::string(tag)).first;
  place->second.tag = place->first;
  place->second.series = std::make_unique<Series>(kind, metadata);
  return place->second.series.get();
}

void Run::add_scalars(LogId log, std::string_view log_name, std::span<const RunPoint> points) {
  constexpr SeriesKind kKind{DataClass::kScalar};
  constexpr MetadataView kMetadata{.plugin_name = "scalars", .data_class = DataClass::kScalar};
  const std::unique_lock lock(mutex_);
  for (const RunPoint& point : points) {
    begin_log({log, log_name, nullptr, {}}, point.wall_time_s);
    Series* series = find(point.tag);
    if (series == nullptr) series = create(point.tag, kKind, kMetadata);
    series->add_scalar(log, point.step, point.wall_time_s, point.value);
  }
}

StreamOutcome Run::take(EventStream& stream, const EventSource& source) {
  const std::unique_lock lock(mutex_);
  bool has_begun = begun_.contains(source.log);
  StreamEvent event;
  for (;;) {
    const StreamOutcome outcome = stream.next_record(event);
    if (outcome == StreamOutcome::kWait) return outcome;
    if (outcome != StreamOutcome::kEvent) {
      source.problem(stream.error());
      if (outcome == StreamOutcome::kBroken) return outcome;
      continue;
    }
    if (has_begun && add_plain_scalar(event, source)) continue;
    if (const Status added = add(event, source); !added) {
      source.problem(added.error().in(concat("at offset ", event.offset_bytes)));
    } else {
      has_begun = true;
    }
  }
}

// Returns false if the event has another form, or is the first event of its series.
bool Run::add_plain_scalar(const StreamEvent& event, const EventSource& source) {
  ScalarEvent scalar;
  if (!parse_scalar_event(event.record, scalar)) return false;
  Series* const series = find(scalar.tag);
  if (series == nullptr || series->kind.data_class != DataClass::kScalar) return false;
  series->add_scalar(source.log, scalar.step, scalar.wall_time_s, scalar.value);
  return true;
}

void Run::begin_log(const EventSource& source, double wall_time_s) {
  if (begun_.emplace(source.log, wall_time_s).second) begun_by_name_.emplace(source.log_name, wall_time_s);
}

Status Run::add(const StreamEvent& stream_event, const EventSource& source) {
  StreamEvent event = stream_event;
  HEADRACE_TRY(event.event, parse_event(event.record));
  begin_log(source, event.event.wall_time_s);
  MigratedValue migrated;
  if (migration_.migrate_event(event.event, migrated)) {
    return add_value(migrated, find(migrated.tag), event, source);
  }
  SummaryReader values(event.event);
  Status outcome;
  for (SummaryValue value; values.next(value);) {
    Series* const series = find(value.tag);
    Status added = migration_.migrate(value, series == nullptr ? nullptr : &series->kind, migrated);
    if (!added && series == nullptr) note_unread(source.log, migrated.metadata.plugin_name);
    if (added) added = add_value(migrated, series, event, source);
    if (!added && outcome) outcome = std::move(added);
  }
  return outcome ? values.status() : outcome;
}

// Notes the plugin, because TensorBoard shows the page of a plugin that has data even if all of it is
// malformed.
void Run::note_unread(LogId log, std::string_view plugin) {
  if (!plugin.empty() && is_valid_utf8(plugin)) unread_plugins_[log].emplace(plugin);
}

Status Run::add_value(const MigratedValue& value, Series* series, const StreamEvent& event,
                      const EventSource& source) {
  if (value.kind.data_class == DataClass::kUnknown) return {};
  if (only_scalars_ && value.kind.data_class != DataClass::kScalar) return {};
  if (series == nullptr) {
    if (!is_valid_utf8(value.tag) || !is_valid_utf8(value.metadata.plugin_name)) {
      return Error{Code::kDataLoss,
                   concat("tag or plugin that is not UTF-8: \"", printable_line(value.tag, 200), "\"")};
    }
    series = create(value.tag, value.kind, value.metadata);
  }
  const EventView& of = event.event;
  switch (value.kind.data_class) {
    case DataClass::kScalar:
      series->add_scalar(source.log, of.step, of.wall_time_s, value.scalar);
      break;
    case DataClass::kTensor:
      series->add_tensor(source.log, of.step, of.wall_time_s, value.tensor);
      break;
    default:
      series->add_blobs(source.log, of.step, of.wall_time_s,
                        references(value.blobs, event, source.object_key));
  }
  return {};
}

void Run::drop_log(LogId log, std::string_view log_name) {
  const std::unique_lock lock(mutex_);
  drop_series_if([log](Series& series) { return series.drop_log(log); });
  begun_.erase(log);
  unread_plugins_.erase(log);
  if (const auto found = begun_by_name_.find(log_name); found != begun_by_name_.end()) {
    begun_by_name_.erase(found);
  }
}

void Run::cut_log(LogId log, std::int64_t step) {
  const std::unique_lock lock(mutex_);
  drop_series_if([&](Series& series) { return series.cut_log(log, step); });
}

// REQUIRES: mutex_ is held
void Run::drop_series_if(const std::function<bool(Series&)>& is_dropped) {
  latest_ = nullptr;
  for (auto& [tag, entry] : series_) entry.follower = nullptr;
  std::erase_if(series_, [&](auto& entry) { return is_dropped(*entry.second.series); });
}

std::optional<double> Run::start_time_s() const {
  const std::shared_lock lock(mutex_);
  if (begun_by_name_.empty()) return std::nullopt;
  return begun_by_name_.begin()->second;
}

std::set<std::string> Run::plugins() const {
  const std::shared_lock lock(mutex_);
  std::set<std::string> out;
  for (const auto& [tag, entry] : series_) out.insert(entry.series->plugin_name);
  for (const auto& [log, plugins] : unread_plugins_) out.insert(plugins.begin(), plugins.end());
  return out;
}

void Run::for_each(const Visit& visit) const {
  const std::shared_lock lock(mutex_);
  std::vector<const std::pair<const std::string, Entry>*> sorted;
  for (const auto& entry : series_) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
  for (const auto* entry : sorted) visit(entry->first, *entry->second.series, begun_);
}

void Run::for_tag(const std::string& tag, const Visit& visit) const {
  const std::shared_lock lock(mutex_);
  const auto found = series_.find(tag);
  if (found != series_.end()) visit(found->first, *found->second.series, begun_);
}

}  // namespace headrace
