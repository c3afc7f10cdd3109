#pragma once

/// \file Writes an event file into a store, as segments: docs/tensorflow-file-systems.md, "Event files".

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "headrace/log/segment_log.h"
#include "headrace/record/event.h"

namespace headrace {

struct EventWriterOptions {
  /// Name and version of the program: "headrace 0.1.0".
  std::string writer;
  /// Longest time from an event until its write to the store begins; 0 or more.
  double flush_seconds = 30;
  /// Where events wait on this machine while the store does not accept them; nowhere, by default.
  SpoolOptions spool{};
  /// With a journal, an event survives a kill of this process `journal_interval` after it was added, and the
  /// spool is not used.
  SegmentJournalOptions journal{};
  std::chrono::milliseconds journal_interval{500};
  /// The clock of SegmentLog; tests pass their own.
  std::function<Background::Clock::time_point()> now = Background::Clock::now;
};

/// Thread-safe: events are written in the order of the calls. `background` must outlive the writer. If there
/// is a journal, `background` should have three threads, so that the journal does not wait for the store.
class EventWriter : public std::enable_shared_from_this<EventWriter> {
 public:
  /// Opens a writer; writes nothing yet. `location` is the event file; its name contains "tfevents".
  /// \param wall_time_s  time of the file's first event, in seconds since 1970
  /// \error kInvalidArgument  flush_seconds is negative, or not a number
  /// \error as SegmentLog::open
  static Result<std::shared_ptr<EventWriter>> open(Location location, double wall_time_s,
                                                   EventWriterOptions options, Background& background);
  /// Closes the writer and ignores errors. Events that a failed `close` has left in a journal stay there.
  ~EventWriter();

  /// Adds an event: `encode(EventEncoder&, Bytes&)` appends it to the buffer, which is passed on to the log
  /// now and then. Never waits for the store.
  /// \error kResourceExhausted   the store accepts nothing, and too much data waits for it: this event is
  ///                             dropped. With a journal: its disk is full
  /// \error kPermissionDenied    the journal's disk refuses the write
  /// \error kFailedPrecondition  the writer is closed
  /// \error of the store or the disk, once, if a write in the background has failed: this event and those
  /// before it are kept
  template <typename Encode>
  Status add(Encode&& encode) {
    const std::scoped_lock lock(mutex_);
    if (is_closed_) return refuse();
    // Pass the buffer on before the event is encoded: the encoder remembers which tags it has described.
    if (buffer_.size() >= kBufferBytes) HEADRACE_CHECK(pass_to_log());
    encode(encoder_, buffer_);
    if (!flush_due_ || (!is_journal_scheduled_ && has_journal())) schedule_tasks();
    if (buffer_.size() >= kBufferBytes) static_cast<void>(pass_to_log());  // or at the next event
    return std::exchange(unreported_error_, Status());
  }

  /// True if the store accepts events, but too slowly.
  bool is_full() const { return is_full_; }
  /// Waits for the store if `is_full`. \error of the store; the events are kept
  Status make_room();
  /// With a journal, makes all added events survive a kill of this process; without one, does nothing. Does
  /// not wait for the store. \error as SegmentLog::append; the events are kept in memory
  Status flush_journal();
  /// Gets all added events into the store: waits for the write or, if the last one was less than a second
  /// ago, leaves it to the background. \error as SegmentLog::flush
  Status flush();
  /// Writes all events to the store, and refuses further ones. May be repeated after an error.
  /// \param within  as in SegmentLog::close; spent twice if the log at first had no room for the last events
  Status close(std::chrono::milliseconds within);
  Status close();
  std::string describe() const { return log_->location().describe(); }

 private:
  static constexpr std::size_t kBufferBytes = 1 << 20;

  EventWriter(std::shared_ptr<SegmentLog> log, EventWriterOptions options, Background& background);
  Status refuse() const;
  Status pass_to_log();
  void schedule_tasks();
  void schedule_flush();
  void run_scheduled_flush();
  Status close_log(const std::function<Status()>& close);
  bool has_journal() const { return !options_.journal.folder.empty(); }
  void schedule_journal();

  const std::shared_ptr<SegmentLog> log_;
  const EventWriterOptions options_;
  Background& background_;
  std::atomic<bool> is_full_ = false;
  std::mutex mutex_;
  EventEncoder encoder_;
  Bytes buffer_;
  Status unreported_error_;                                 // error of a flush that nobody waited for
  std::optional<Background::Clock::time_point> flush_due_;  // for the first event since the last flush
  bool is_flush_scheduled_ = false;                         // a flush is scheduled or running
  bool is_journal_scheduled_ = false;
  bool is_closed_ = false;
};

}  // namespace headrace
