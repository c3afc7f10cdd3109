#include "headrace/events/event_writer.h"

#include <utility>

#include "headrace/base/text.h"

namespace headrace {

EventWriter::EventWriter(std::shared_ptr<LogFile> log, EventWriterOptions options)
    : log_(std::move(log)), options_(std::move(options)) {}

EventWriter::~EventWriter() { static_cast<void>(close()); }

Result<std::unique_ptr<EventWriter>> EventWriter::open(Location location, double wall_time_s,
                                                       EventWriterOptions options, Background& background) {
  Bytes header;
  EventEncoder().begin_file(header, wall_time_s, "");
  HEADRACE_TRY(auto log,
               LogFile::open(std::move(location), false, {.segment_header = std::move(header)}, background));
  std::unique_ptr<EventWriter> writer(new EventWriter(std::move(log), std::move(options)));
  writer->encoder_.begin_file(writer->buffer_, wall_time_s, writer->options_.writer);
  writer->last_flush_s_ = wall_time_s;
  return writer;
}

Status EventWriter::refuse() const {
  return Error{Code::kFailedPrecondition, concat(describe(), ": this log is closed; open another writer")};
}

// REQUIRES: mutex_ is held
Status EventWriter::hand_on() {
  if (!buffer_.empty()) HEADRACE_CHECK(log_->append(buffer_));
  buffer_.clear();
  return {};
}

Status EventWriter::flush(double wall_time_s) {
  {
    const std::scoped_lock lock(mutex_);
    if (is_closed_) return {};
    HEADRACE_CHECK(hand_on());
    last_flush_s_ = wall_time_s;
  }
  return log_->flush();
}

Status EventWriter::close() {
  {
    const std::scoped_lock lock(mutex_);
    is_closed_ = true;
    HEADRACE_CHECK(hand_on());
  }
  return log_->close();  // without the mutex: others are refused meanwhile, and need not wait for that
}

}  // namespace headrace
