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
  /// Longest time, in seconds, from an event until it is on its way into the store.
  double flush_seconds = 30;
  /// Where events wait on this machine that the store does not accept; nowhere, by default.
  SpoolOptions spool{};
  /// With a journal, events survive a kill of this process `journal_interval` after they were added, and the
  /// spool is not used.
  SegmentJournalOptions journal{};
  std::chrono::milliseconds journal_interval{500};
  /// Tests pass their own, for SegmentLog.
  std::function<Background::Clock::time_point()> now = Background::Clock::now;
};

/// Thread-safe: events are in the order of the calls. `background` must outlive it, and should have three
/// threads if there is a journal, so that the journal does not wait for the store.
class EventWriter : public std::enable_shared_from_this<EventWriter> {
 public:
  /// Writes nothing yet. `location` is the file, whose name contains "tfevents".
  /// \error kInvalidArgument  flush_seconds is negative, or not a number
  static Result<std::shared_ptr<EventWriter>> open(Location location, double wall_time_s,
                                                   EventWriterOptions options, Background& background);
  /// Closes the writer, and drops the error. Events that a failed `close` has left in a journal stay there.
  ~EventWriter();

  /// `encode` appends events to the buffer, which is passed on now and then. Never waits for the store.
  /// \error kResourceExhausted   the store accepts nothing, and too much waits for it: this event is dropped.
  ///                             With a journal also, and kPermissionDenied: its disk is full, or refuses
  /// \error kFailedPrecondition  the writer is closed
  /// \error once, the store's or the disk's error of a write in the background: this event is kept, and so
  /// are those before it
  template <typename Encode>
  Status add(Encode&& encode) {
    const std::scoped_lock lock(mutex_);
    if (is_closed_) return refuse();
    // Before the event is encoded: the encoder would take its tags for described.
    if (buffer_.size() >= kBufferBytes) HEADRACE_CHECK(hand_on());
    encode(encoder_, buffer_);
    if (!flush_due_ || (!is_journal_ordered_ && has_journal())) note_event();
    if (buffer_.size() >= kBufferBytes) static_cast<void>(hand_on());  // or at the next event
    return std::exchange(untold_, Status());
  }

  /// The store accepts events, but too slowly.
  bool is_full() const { return is_full_; }
  /// Waits for the store if `is_full`. \error of the store; the events are kept
  Status make_room();
  /// With a journal, all added events survive a kill of this process. Does not wait for the store.
  /// \error as SegmentLog::append: the events are kept in memory
  Status flush_journal();
  /// All added events are in the store within a second; \error as SegmentLog::flush
  Status flush();
  /// All events are in the store. May be repeated after an error. `within` as in SegmentLog::close, twice if
  /// the log had no room for the last events at first.
  Status close(std::chrono::milliseconds within);
  Status close();
  std::string describe() const { return log_->location().describe(); }

 private:
  static constexpr std::size_t kBufferBytes = 1 << 20;

  EventWriter(std::shared_ptr<SegmentLog> log, EventWriterOptions options, Background& background);
  Status refuse() const;
  Status hand_on();
  void note_event();
  void order_flush();
  void flush_ordered();
  Status close_log(const std::function<Status()>& close);
  bool has_journal() const { return !options_.journal.folder.empty(); }
  void order_journal();

  const std::shared_ptr<SegmentLog> log_;
  const EventWriterOptions options_;
  Background& background_;
  std::atomic<bool> is_full_ = false;
  std::mutex mutex_;
  EventEncoder encoder_;
  Bytes buffer_;
  Status untold_;                                           // of a flush that nobody waited for
  std::optional<Background::Clock::time_point> flush_due_;  // of the first event since the last flush
  bool is_flush_ordered_ = false;                           // or goes on
  bool is_journal_ordered_ = false;
  bool is_closed_ = false;
};

}  // namespace headrace
