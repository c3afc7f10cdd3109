#include "headrace/metrics/metric_writer.h"

#include <thread>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/log/closing_call.h"
#include "headrace/metrics/compact.h"
#include "headrace/metrics/metric_log.h"

namespace headrace {

namespace {

constexpr std::chrono::milliseconds kUploadRetry{100};
constexpr std::uint64_t kMostSegmentsLeft = 8;

/// Checks that the stored segment at `place` was made from the same points, and returns its digest.
Result<Bytes> check_is_same(const MetricJournalFile& file, const Location& place, const Bytes& segment,
                            const CallOptions& call) {
  const auto found = read_object(*place.store, place.key, kSegmentLimitBytes, call);
  // The segment was there and is gone: a compaction has merged it into a larger one.
  if (!found && found.error().code == Code::kNotFound) return sha256(segment);
  if (!found) return found.error();
  HEADRACE_TRY(const SegmentFooter footer, read_footer(read_from(found->data), found->data.size()));
  if (footer.head.points_digest == file.digest) return sha256(found->data);
  return Error{Code::kFailedPrecondition,
               concat(place.describe(), " holds other points: another process writes this log")};
}

}  // namespace

Result<Bytes> write_segment_of(const MetricJournalFile& file, std::uint64_t number, const Bytes& previous,
                               const Location& log, const CallOptions& call) {
  const SegmentHead head{.first = number,
                         .last = number,
                         .previous = previous,
                         .points_digest = file.digest,
                         .from_step = file.head.from_step,
                         .is_end = file.is_end};
  const Bytes segment = encode_segment(head, file.names, file.points);
  const Location place = log.at(segment_name(number, number));
  WriteOptions options{.only_if_absent = true};
  options.call = call;
  const auto written = place.store->write(place.key, segment, options);
  if (written) return sha256(segment);
  if (written.error().code == Code::kAlreadyExists) return check_is_same(file, place, segment, call);
  return written.error();
}

MetricWriter::MetricWriter(Location log, MetricWriterOptions options, MetricJournal journal,
                           Background& background)
    : log_(std::move(log)),
      options_(std::move(options)),
      background_(background),
      journal_(std::move(journal)) {}

Result<std::shared_ptr<MetricWriter>> MetricWriter::open(Location log, MetricWriterOptions options,
                                                         Background& background) {
  HEADRACE_TRY(
      MetricJournal journal,
      MetricJournal::create(options.journal_folder, {.url = log.url.text(), .from_step = options.from_step}));
  return std::shared_ptr<MetricWriter>(
      new MetricWriter(std::move(log), std::move(options), std::move(journal), background));
}

MetricWriter::~MetricWriter() {
  if (!is_closed_) static_cast<void>(write_journal(false));
}

Result<std::uint32_t> MetricWriter::metric(std::string_view name) {
  if (name.empty() || name.size() > kMetricNameBytes || !is_valid_utf8(name)) {
    return Error{Code::kInvalidArgument,
                 concat("the name of a metric must be UTF-8 text of 1 to ", kMetricNameBytes,
                        " bytes; this name has ", name.size(), " bytes")};
  }
  const std::scoped_lock lock(mutex_);
  const auto [found, is_new] =
      numbers_.try_emplace(std::string(name), static_cast<std::uint32_t>(names_.size()));
  if (is_new) names_.emplace_back(name);
  return found->second;
}

void MetricWriter::log(std::uint32_t metric, std::int64_t step, double value) {
  const Value one{metric, value};
  log({&one, 1}, step);
}

void MetricWriter::log(std::span<const Value> values, std::int64_t step) {
  const auto now = options_.wall_clock().time_since_epoch();
  log(values, step, std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

void MetricWriter::log(std::span<const Value> values, std::int64_t step, std::int64_t time_us) {
  const std::scoped_lock lock(mutex_);
  if (is_closed_ || points_.size() + values.size() > options_.most_held_points) {
    dropped_ += values.size();
    return;
  }
  for (const Value& each : values) points_.push_back({each.metric, step, time_us, each.value});
  if (!options_.is_flushed_by_caller && !std::exchange(is_journal_ordered_, true))
    order_journal(options_.now() + options_.journal_interval);
}

void MetricWriter::order_journal(Clock::time_point time) {
  background_.add_at(time, [weak = weak_from_this()] {
    if (const auto writer = weak.lock()) {
      {
        const std::scoped_lock lock(writer->mutex_);
        writer->is_journal_ordered_ = false;
      }
      if (Status written = writer->write_journal(false); !written) {
        const std::scoped_lock lock(writer->mutex_);
        if (writer->unreported_) writer->unreported_ = std::move(written);
      }
    }
  });
}

Status MetricWriter::write_journal(bool is_end) {
  const std::scoped_lock journaling(journaling_);
  std::vector<MetricPoint> points;
  {
    const std::scoped_lock lock(mutex_);
    points.swap(points_);
    for (std::size_t i = journal_names_.size(); i < names_.size(); ++i) journal_names_.push_back(names_[i]);
  }
  if (points.empty() && !is_end) return {};
  if (journal_.files().held_bytes() > options_.most_journal_bytes) {
    const std::scoped_lock lock(mutex_);
    dropped_ += points.size();
    return Error{Code::kResourceExhausted,
                 concat("the journal ", journal_.files().folder(), " holds ", journal_.files().held_bytes(),
                        " bytes that the store has not taken: ", points.size(), " points are dropped")};
  }
  if (journal_.files().file_bytes() == 0) file_began_ = options_.now();
  if (Status written = journal_.append(journal_names_, points, is_end); !written) {
    const std::scoped_lock lock(mutex_);
    dropped_ += points.size();
    return std::move(written).error().in(concat(points.size(), " points are dropped"));
  }
  end_file_if_due(is_end);
  return {};
}

// While the store takes nothing, the file grows, so that an outage does not leave thousands of small
// segments.
void MetricWriter::end_file_if_due(bool at_once) {
  const Clock::time_point due = file_began_ + options_.segment_interval;
  const bool is_due = ended_.empty() && options_.now() >= due;
  if (at_once || is_due || journal_.files().file_bytes() >= kMostSegmentBytes)
    ended_.push_back(journal_.end_file());
  if (!std::exchange(is_upload_ordered_, true)) order_upload(ended_.empty() ? due : options_.now());
}

void MetricWriter::order_upload(Clock::time_point time) {
  background_.add_at(time, [weak = weak_from_this()] {
    if (const auto writer = weak.lock()) writer->upload();
  });
}

void MetricWriter::upload() {
  const Status uploaded = upload_first(options_.call);
  const std::scoped_lock journaling(journaling_);
  is_upload_ordered_ = !ended_.empty() || journal_.files().file_bytes() > 0;
  if (!is_upload_ordered_) return;
  const Clock::time_point now = options_.now();
  const Clock::time_point due = file_began_ + options_.segment_interval;
  order_upload(!uploaded ? now + options_.segment_interval : ended_.empty() ? std::max(now, due) : now);
}

Status MetricWriter::upload_first(const CallOptions& call) {
  const std::scoped_lock uploading(uploading_);
  std::uint64_t number = 0;
  {
    const std::scoped_lock journaling(journaling_);
    if (ended_.empty()) {
      if (journal_.files().file_bytes() == 0) return {};
      ended_.push_back(journal_.end_file());
    }
    number = ended_.front();
  }
  Result<Bytes> digest = Bytes();
  if (auto file = read_metric_journal(journal_.files().path(number)); !file) {
    digest = std::move(file).error();
  } else {
    digest = write_segment_of(*file, number, previous_, log_, call);
  }
  const std::scoped_lock journaling(journaling_);
  if (!digest) return store_failure_ = digest.error();
  previous_ = std::move(*digest);
  journal_.remove(number);
  ended_.pop_front();
  ++segments_;
  store_failure_ = {};
  return {};
}

Status MetricWriter::flush() {
  HEADRACE_CHECK(write_journal(false));
  const std::scoped_lock lock(mutex_);
  return std::exchange(unreported_, Status());
}

std::optional<std::uint64_t> MetricWriter::end_file() {
  const std::scoped_lock journaling(journaling_);
  if (journal_.files().file_bytes() > 0) ended_.push_back(journal_.end_file());
  return ended_.empty() ? std::nullopt : std::optional(ended_.back());
}

bool MetricWriter::is_uploaded(std::optional<std::uint64_t> last) const {
  const std::scoped_lock journaling(journaling_);
  if (last) return ended_.empty() || ended_.front() > *last;
  return ended_.empty() && journal_.files().file_bytes() == 0;
}

// Uploads the files up to `last`, but stops at `end`, even if the store takes one file after another. Without
// `last`, uploads all files; no more may follow.
Status MetricWriter::upload_until(std::optional<std::uint64_t> last, Clock::time_point end) {
  while (true) {
    const Status uploaded = upload_first(closing_call(options_.call, end - options_.now()));
    if (is_uploaded(last)) return {};
    if (uploaded && !last) continue;
    const bool is_hopeless = !uploaded && uploaded.error().code == Code::kFailedPrecondition;
    if (options_.now() >= end || is_hopeless) {
      return Error{Code::kDeadlineExceeded, concat(uploaded ? "the store did not take all points in that time"
                                                            : std::string_view(uploaded.error().message),
                                                   ". The points are in ", journal_.files().folder(),
                                                   "; `headrace runs recover` writes them into the store")};
    }
    if (!uploaded) std::this_thread::sleep_for(kUploadRetry);
  }
}

Status MetricWriter::publish(std::chrono::milliseconds within) {
  const Clock::time_point end = options_.now() + within;
  HEADRACE_CHECK(flush());
  const auto last = end_file();
  return last ? upload_until(last, end) : Status{};
}

// Takes no more points before it writes the end; otherwise points could follow the end.
Status MetricWriter::write_end() {
  const std::scoped_lock one_closes(closing_);
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(is_closed_, true)) return {};
  }
  Status written = write_journal(true);
  if (written) return {};
  const std::scoped_lock lock(mutex_);
  is_closed_ = false;
  return written;
}

Status MetricWriter::close(std::chrono::milliseconds within) {
  const Clock::time_point end = options_.now() + within;
  HEADRACE_CHECK(write_end());
  HEADRACE_CHECK(upload_until(std::nullopt, end));
  bool must_compact = false;
  {
    const std::scoped_lock journaling(journaling_);
    journal_.remove_all();
    must_compact = segments_ > kMostSegmentsLeft;
  }
  if (must_compact)
    static_cast<void>(compact_log(log_, options_.call));  // a failure loses nothing: all segments are stored
  const std::scoped_lock lock(mutex_);
  return std::exchange(unreported_, Status());
}

MetricWriter::Counts MetricWriter::counts() const {
  const std::scoped_lock locks(journaling_, mutex_);
  return {dropped_, journal_.files().held_bytes(), segments_, store_failure_};
}

}  // namespace headrace
