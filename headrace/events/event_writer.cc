#include "headrace/events/event_writer.h"

#include <algorithm>
#include <utility>

#include "headrace/base/text.h"

namespace headrace {

EventWriter::EventWriter(std::shared_ptr<SegmentLog> log, EventWriterOptions options, Background& background)
    : log_(std::move(log)), options_(std::move(options)), background_(background) {}

// Events that an earlier `close` has left in the journal stay there.
EventWriter::~EventWriter() { static_cast<void>(is_closed_ && has_journal() ? flush_journal() : close()); }

Result<std::shared_ptr<EventWriter>> EventWriter::open(Location location, double wall_time_s,
                                                       EventWriterOptions options, Background& background) {
  if (!(options.flush_seconds >= 0)) {
    return Error{Code::kInvalidArgument, concat(location.describe(), ": flush_seconds must be 0 or more")};
  }
  Bytes header;
  EventEncoder().begin_file(header, wall_time_s, "");
  SegmentLogOptions log_options;
  log_options.segment_header = std::move(header);
  log_options.spool = options.spool;
  log_options.journal = options.journal;
  log_options.now = options.now;
  HEADRACE_TRY(auto log, SegmentLog::open(std::move(location), false, std::move(log_options), background));
  std::shared_ptr<EventWriter> writer(new EventWriter(std::move(log), std::move(options), background));
  writer->encoder_.begin_file(writer->buffer_, wall_time_s, writer->options_.writer);
  return writer;
}

Status EventWriter::refuse() const {
  return Error{Code::kFailedPrecondition, concat(describe(), ": this log is closed; open another writer")};
}

// REQUIRES: mutex_ is held
Status EventWriter::pass_to_log() {
  if (!buffer_.empty()) HEADRACE_CHECK(log_->append(buffer_));
  buffer_.clear();
  is_full_ = log_->is_full();
  return {};
}

// REQUIRES: mutex_ is held
void EventWriter::schedule_tasks() {
  if (!flush_due_) {
    const auto wait = std::chrono::duration<double>(std::min(options_.flush_seconds, 1e9));
    flush_due_ = Background::Clock::now() + std::chrono::duration_cast<Background::Clock::duration>(wait);
  }
  if (!is_flush_scheduled_) schedule_flush();
  if (!is_journal_scheduled_ && has_journal()) schedule_journal();
}

// Schedules at most one flush at a time, even while it waits for the store. More flushes would take the
// threads that the journal needs. REQUIRES: mutex_ is held, and flush_due_ has a value
void EventWriter::schedule_flush() {
  is_flush_scheduled_ = true;
  background_.add_at(*flush_due_, [weak = weak_from_this()] {
    if (const auto writer = weak.lock()) writer->run_scheduled_flush();
  });
}

void EventWriter::run_scheduled_flush() {
  {
    const std::scoped_lock lock(mutex_);
    flush_due_.reset();  // this flush may miss events that are added from now on
  }
  const Status status = flush();
  const std::scoped_lock lock(mutex_);
  is_flush_scheduled_ = false;
  if (!status) unreported_error_ = status;
  if (is_closed_) return;
  if (!status) schedule_tasks();  // retries the flush
  if (flush_due_ && !is_flush_scheduled_) schedule_flush();
}

// REQUIRES: mutex_ is held
void EventWriter::schedule_journal() {
  is_journal_scheduled_ = true;
  const auto time = Background::Clock::now() + options_.journal_interval;
  background_.add_at(time, [weak = weak_from_this()] {
    const auto writer = weak.lock();
    if (!writer) return;
    const std::scoped_lock lock(writer->mutex_);
    writer->is_journal_scheduled_ = false;
    if (Status kept = writer->pass_to_log(); !kept && writer->unreported_error_)
      writer->unreported_error_ = std::move(kept);
  });
}

Status EventWriter::flush_journal() {
  const std::scoped_lock lock(mutex_);
  return has_journal() ? pass_to_log() : Status();
}

Status EventWriter::make_room() {
  Status status = log_->make_room();
  is_full_ = log_->is_full();
  return status;
}

// The log refuses events while too many are waiting. It may accept them after another request to the store,
// hence the second attempt.
Status EventWriter::flush() {
  Status handed;
  for (int attempt = 0; attempt < 2; ++attempt) {
    {
      const std::scoped_lock lock(mutex_);
      if (is_closed_) return {};
      handed = pass_to_log();
    }
    HEADRACE_CHECK(log_->flush());
    if (handed) return {};
  }
  return handed;
}

Status EventWriter::close() {
  return close_log([this] { return log_->close(); });
}

Status EventWriter::close(std::chrono::milliseconds within) {
  return close_log([this, within] { return log_->close(within); });
}

Status EventWriter::close_log(const std::function<Status()>& close) {
  Status handed;
  for (int attempt = 0; attempt < 2; ++attempt) {
    {
      const std::scoped_lock lock(mutex_);
      is_closed_ = true;
      handed = pass_to_log();
    }
    HEADRACE_CHECK(close());  // without the mutex, so that other calls are refused without waiting
    if (handed) return {};
  }
  return handed;
}

}  // namespace headrace
