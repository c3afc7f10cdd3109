#pragma once

/// \file Writes an event file into a store, as segments: docs/tensorflow-file-systems.md, "Event files".

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "headrace/filesystem/log_file.h"
#include "headrace/record/event.h"

namespace headrace {

struct EventWriterOptions {
  /// Of the program, as in "headrace 0.1.0".
  std::string writer;
  /// So long after an event at most, it is on its way into the store, if another event comes.
  double flush_seconds = 30;
};

/// Thread-safe: events are in the order of the calls. `background` must outlive it.
class EventWriter {
 public:
  /// Writes nothing yet. `location` is the file, whose name contains "tfevents".
  static Result<std::unique_ptr<EventWriter>> open(Location location, double wall_time_s,
                                                   EventWriterOptions options, Background& background);
  /// Closes it, and drops the error.
  ~EventWriter();

  /// `encode` appends events to the buffer, which is handed on now and then. Waits for the store only where
  /// LogFile::append does.
  /// \error as LogFile::append; kFailedPrecondition: it is closed
  template <typename Encode>
  Status add(double wall_time_s, Encode&& encode) {
    const std::scoped_lock lock(mutex_);
    if (is_closed_) return refuse();
    const std::size_t before = buffer_.size();
    encode(encoder_, buffer_);
    const bool is_due = wall_time_s - last_flush_s_ >= options_.flush_seconds;
    if (buffer_.size() < kBufferBytes && !is_due) return {};
    if (Status status = hand_on(); !status) {
      buffer_.resize(before);  // this event is refused; those before it are kept
      return status;
    }
    if (is_due) log_->flush_soon();
    if (is_due) last_flush_s_ = wall_time_s;
    return {};
  }

  /// What was added is in the store within a second.
  Status flush(double wall_time_s);
  /// All is in the store. May be repeated after an error.
  Status close();
  std::string describe() const { return log_->location().describe(); }

 private:
  static constexpr std::size_t kBufferBytes = 1 << 20;

  EventWriter(std::shared_ptr<LogFile> log, EventWriterOptions options);
  Status refuse() const;
  Status hand_on();

  const std::shared_ptr<LogFile> log_;
  const EventWriterOptions options_;
  std::mutex mutex_;
  EventEncoder encoder_;
  Bytes buffer_;
  double last_flush_s_ = 0;
  bool is_closed_ = false;
};

}  // namespace headrace
