#pragma once

/// \file A log of one writer. It grows as a sequence of objects that never change: its segments.

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headrace/log/create_segment.h"
#include "headrace/log/journal.h"
#include "headrace/log/spool.h"
#include "headrace/os/background.h"
#include "headrace/store/location.h"

namespace headrace {

/// Returns the size of a record from its beginning, or none if the beginning is too short. If the bytes are
/// not a record, returns their size, so that the log passes them on and does not wait for their end.
using RecordSize = std::optional<std::uint64_t> (*)(BytesView beginning);

/// Removes the segments of a log, except those with a key in `keeps`. Only for logs whose segments have no
/// ending. Cost: a listing.
Status remove_segments(const Location& log, std::span<const std::string> keeps, const CallOptions& call);

/// A journal: files on this machine that hold each record until the store has it: docs/formats/journal.md.
struct SegmentJournalOptions {
  /// The journal's folder, which must not exist yet. The folders above it are made. Empty: there is no
  /// journal.
  std::string folder{};
  /// URL of a folder in the store, such as the record of a run. If that folder is empty, the log is no longer
  /// wanted, and `recover_segments` does not write it. Empty: the log is always wanted.
  std::string owner{};
  /// Largest number of bytes that wait in the journal.
  std::uint64_t most_bytes = std::uint64_t{1} << 30;
};

struct SegmentLogOptions {
  /// Ending of the segments' keys, for readers that recognise files by their names: ".tfrecord".
  std::string ending{};
  /// The beginning of every segment after the first: the `file_version` record of an event file.
  Bytes segment_header{};
  /// Finds the ends of records. Null: each call of `append` passes whole records.
  RecordSize record_size = nullptr;
  /// For a log that does not continue. True: it replaces the segments that existed when it was opened, as a
  /// file that is opened for writing replaces its content. False: it writes under the first free number.
  bool replaces = false;
  /// Largest number of bytes kept in memory while the store cannot be reached. The rest goes to the spool.
  /// With a journal, this limit always applies, not counting the segment that is being written.
  std::size_t most_held_bytes = 64 << 20;
  /// Folder on this machine for the rest. If its `root` is empty, nothing is spooled.
  SpoolOptions spool{};
  /// With a journal, a kill of this process loses no appended data, and nothing is spooled. The records must
  /// differ from those of other writers of the log, as events do by their times. Otherwise `recover_segments`
  /// takes another segment that begins with these records for their segment.
  SegmentJournalOptions journal{};
  /// The time limit of `close()`.
  std::chrono::milliseconds close_time{300'000};
  /// Options for each request to the store.
  CallOptions call{};
  /// The clock. Tests pass their own.
  std::function<Background::Clock::time_point()> now = Background::Clock::now;
};

/// Thread-safe. `background` must outlive it.
///
/// If the store cannot be reached, the log keeps the appended data, first in memory and then in the spool.
/// Later flushes send them again, so that an outage of the store does not end training. A killed process
/// loses the data that were not in the store yet, including the spool. With a journal it loses nothing:
/// `recover_segments` writes the journal's records.
///
/// Segments in the store are always whole, and are created only if absent. If two logs have the same name, or
/// a stalled process continues after another has taken over, each writes under the next free number. Then
/// nothing is overwritten and nothing is lost, except by a log that `replaces` when it is opened.
class SegmentLog : public std::enable_shared_from_this<SegmentLog> {
 public:
  /// Shortest time from the opening, or from a segment, to the next segment that a flush writes.
  static constexpr std::chrono::seconds kLeastInterval{1};
  /// Shortest time from a failed segment to the next attempt.
  static constexpr std::chrono::seconds kRetryInterval{10};
  /// Once this much is buffered, it is written in the background without a flush.
  static constexpr std::size_t kMostSegmentBytes = 8 << 20;
  /// Once this much is buffered, `is_full` is true.
  static constexpr std::size_t kFullBytes = 4 * kMostSegmentBytes;

  /// Opens a log, and writes nothing yet. `goes_on`: continue after the existing segments; cost: a listing.
  /// A log that `replaces` removes the existing segments now or, if the store cannot be reached, before it
  /// writes its first segment.
  /// \error kInvalidArgument  there is a journal together with `record_size` or `replaces`
  /// \error                   as for Store::list and Store::remove_many
  static Result<std::shared_ptr<SegmentLog>> open(Location location, bool goes_on, SegmentLogOptions options,
                                                  Background& background);
  /// Writes the rest, unless a `close` has left it in a journal. Call `close` first if you need the error.
  ~SegmentLog();

  /// Appends data. Never waits for the store; if memory is full, writes to the spool on disk. With a journal,
  /// a kill of this process does not lose the data once this has returned, because they are in a file.
  /// \error kResourceExhausted  the store has failed, and memory and the spool are full: the whole record
  ///                            that `data` belong to is dropped. Or the journal or its disk is full: `data`
  ///                            are dropped.
  /// \error kAlreadyExists      the journal's folder existed before: `data` are dropped
  /// \error kPermissionDenied   the journal cannot be written: `data` are dropped
  Status append(BytesView data);
  /// Whether the store accepts the appended data too slowly, so that `make_room` should be called. Always
  /// false with a journal, whose files hold what does not fit into memory.
  bool is_full() const;
  /// If the log is full, waits until its data are in the store. After an error, the appended data are kept.
  /// \error as for `flush`
  Status make_room();
  /// Makes sure that the appended data, up to the last complete record, are in the store soon: at once, or
  /// within kLeastInterval, or within kRetryInterval after a failed write. Blocks during a write, but not for
  /// the interval. An outage of the store is no error.
  /// \error as for create_segment, also from an earlier write in the background
  /// \error kDataLoss, kNotFound, …  records in the spool or the journal were lost; reported once, and the
  ///                                 other records are still written
  Status flush();
  /// Writes all data to the store, then removes the journal. An error leaves the journal in place; the call
  /// may be repeated.
  /// \param within  no further segment begins after this time. Requests wait no longer than that for
  ///                progress, but at least a second. A request that is already under way keeps its deadline.
  /// \error kDeadlineExceeded  the time has passed, and some data are left
  /// \error                    as for `flush`, and for an outage of the store
  Status close(std::chrono::milliseconds within);
  /// Closes the log within SegmentLogOptions::close_time.
  Status close();
  /// Size of the log, including the segments that it continues.
  std::uint64_t size_bytes() const;
  /// Appended data in memory that are not in the store yet.
  std::uint64_t waiting_bytes() const;
  const Location& location() const { return location_; }

 private:
  using Clock = Background::Clock;
  enum class Part { kWholeRecords, kAll };

  // Records of one segment that waits for the store, in memory or only in a file.
  struct Waiting {
    Bytes records{};
    std::optional<Spool::File> file{};
    std::optional<std::uint64_t> journal_file{};
  };

  SegmentLog(Location location, SegmentLogOptions options, Background& background);

  std::size_t whole_bytes(BytesView data) const;
  std::size_t held_bytes() const;
  Status refuse() const;
  void drop_record_of(BytesView data);
  Bytes take(std::size_t size);
  bool has_journal() const { return !options_.journal.folder.empty(); }
  Status write_journal(BytesView data);
  bool move_to_file(Waiting& waiting);
  bool make_room_in_files(std::size_t size);
  Result<Bytes> read_back(const Waiting& waiting) const;
  bool queue(Part part);
  void take_first();
  Result<bool> write_next(Part part, const CallOptions& call);
  Status write();
  Status write_all(Clock::time_point end);
  Status replace(const CallOptions& call);
  Status write_segment(const Waiting& waiting, BytesView records, const CallOptions& call);
  void write_later(Clock::time_point time);
  void write_now();
  Status with_earlier_loss(Status written);

  const Location location_;
  const SegmentLogOptions options_;
  Background& background_;

  std::mutex writing_;  // taken before mutex_; held while a segment is written, so they stay in order
  std::uint64_t next_segment_ = 0;
  bool must_replace_ = false;  // the old segments still exist

  mutable std::mutex mutex_;
  /// Come before the buffer. Only `write` takes them out, and never changes them, because the answer to an
  /// earlier attempt may be lost.
  std::deque<Waiting> waiting_;
  bool is_writing_ = false;  // the first of waiting_ is being written
  Bytes buffer_;
  Spool spool_;
  std::optional<Journal> journal_;        // set from the first record on
  std::uint64_t first_journal_file_ = 0;  // a segment has the number of its file, or a later one
  std::uint64_t refused_bytes_ = 0;       // bytes still to come of a record whose beginning was refused
  std::uint64_t size_bytes_ = 0;
  Clock::time_point not_before_;            // earliest time of the next segment that a flush writes
  bool is_put_off_ = false;                 // a background task is scheduled or writing
  bool is_writing_later_ = false;           // the background task is writing
  std::optional<Clock::time_point> later_;  // when another task is due, after that one
  bool has_failed_ = false;                 // the last write has failed
  bool is_left_in_journal_ = false;         // the last `close` has left records in the journal
  Status unreported_;                       // the error of a background write, not reported yet
  Status lost_;  // why records in files were lost; reported once, by the next flush or close
};

}  // namespace headrace
