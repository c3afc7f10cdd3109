#pragma once

/// \file A log of one writer that grows as a sequence of objects that never change: its segments.

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

/// Bytes that a record takes, by its beginning; none if that is too short to tell. If it is no record's: the
/// size of what was given, so that the log passes these bytes on and does not wait for their end.
using RecordSize = std::optional<std::uint64_t> (*)(BytesView beginning);

/// Removes the segments of a log, except those whose keys `keeps` holds. Takes one listing.
Status remove_segments(const Location& log, std::span<const std::string> keeps, const CallOptions& call);

/// Files of this machine that hold each record until the store has it: docs/formats/journal.md.
struct SegmentJournalOptions {
  /// Its folder, which must not be there yet; those above it are made. Empty: there is no journal.
  std::string folder{};
  /// URL of a folder of the store, such as the record of a run. If nothing is in it any more, nobody wants
  /// the log, and `recover_segments` does not write it. Empty: the log is wanted in any case.
  std::string owner{};
  /// Most bytes that wait in it.
  std::uint64_t most_bytes = std::uint64_t{1} << 30;
};

struct SegmentLogOptions {
  /// Ending of the segments' keys: ".tfrecord", for readers that go by names.
  std::string ending{};
  /// The beginning of every segment after the first: the `file_version` record of an event file.
  Bytes segment_header{};
  /// Tells where records end. Null: each call of `append` gives whole records.
  RecordSize record_size = nullptr;
  /// A log that does not go on replaces the segments that were there when it was opened, as a file that is
  /// opened for writing replaces its content. False: it writes under the first free number.
  bool replaces = false;
  /// Most bytes kept in memory while the store cannot be reached; the rest goes to the spool. With a journal,
  /// so much is kept in memory at any time, besides the segment that is being written.
  std::size_t most_held_bytes = 64 << 20;
  /// Folder of this machine for the rest; with an empty `root`, nothing is spooled.
  SpoolOptions spool{};
  /// With a journal, a kill of this process loses no appended data, and nothing is spooled. The records must
  /// differ from those of other writers of the log, as events do by their times: `recover_segments` takes
  /// records that another segment begins with for that segment.
  SegmentJournalOptions journal{};
  /// `close` without a time begins no further segment after this one.
  std::chrono::milliseconds close_time{300'000};
  /// For each request to the store.
  CallOptions call{};
  /// Tests pass their own.
  std::function<Background::Clock::time_point()> now = Background::Clock::now;
};

/// Thread-safe. `background` must outlive it.
///
/// If the store cannot be reached, the log keeps the appended data, first in memory and then in the spool,
/// and later flushes offer them again, so that an outage of the store does not end training. A killed process
/// loses the data that were not in the store, spool included, unless there is a journal: `recover_segments`
/// writes what lies in that. The segments in the store are whole. Segments are created only if absent. If two
/// logs have one name, or a stalled process continues after another took over, each writes under the next
/// free number: nothing is overwritten and nothing is lost, except by a log that `replaces` when opened.
class SegmentLog : public std::enable_shared_from_this<SegmentLog> {
 public:
  /// Shortest time from opening, or from a segment, to the next segment, however often the log is flushed.
  static constexpr std::chrono::seconds kLeastInterval{1};
  /// The same after a failed segment.
  static constexpr std::chrono::seconds kRetryInterval{10};
  /// This much is written without a flush, in the background.
  static constexpr std::size_t kMostSegmentBytes = 8 << 20;
  /// `is_full` from here on.
  static constexpr std::size_t kFullBytes = 4 * kMostSegmentBytes;

  /// Writes nothing yet. `goes_on`: continue after the existing segments, which takes one listing. If it
  /// `replaces` segments, removes them; if the store cannot be reached, before the first segment is written.
  /// \error kInvalidArgument  it has a journal, and `record_size` or `replaces`; of the store
  static Result<std::shared_ptr<SegmentLog>> open(Location location, bool goes_on, SegmentLogOptions options,
                                                  Background& background);
  /// Writes the rest, unless a `close` has left it in a journal. Call `close` first to get the error.
  ~SegmentLog();

  /// Never waits for the store; writes to the spool's disk where memory is full. With a journal, a kill of
  /// this process does not lose the data once this has returned: they are in a file.
  /// \error kResourceExhausted  the store has failed, and memory and spool are full: the whole record that
  ///                            `data` belongs to is dropped. Or the journal or its disk is full;
  ///                            kPermissionDenied  of that disk: `data` are dropped
  Status append(BytesView data);
  /// The store accepts the appended data, but too slowly: call `make_room`. Never with a journal, whose files
  /// take what memory does not.
  bool is_full() const;
  /// Waits for the store if the log is full. \error of the store; the appended data are kept
  Status make_room();
  /// The appended data, up to the last complete record, are in the store within kLeastInterval or, after a
  /// failed write, kRetryInterval. \error of the store, also of an earlier write that nobody waited for;
  /// kDataLoss, kNotFound and the like of the spool, once: records in it were lost, and the others go on
  Status flush();
  /// All data are in the store; a journal is gone. May be repeated after an error, which leaves the journal.
  /// \param within  begins no further segment after this time, and its requests wait no longer than that, but
  ///                a second at least, for progress. A request that is under way has `call`'s time.
  /// \error kDeadlineExceeded  the time has passed, and some data are left; of the store
  Status close(std::chrono::milliseconds within);
  /// The same with `close_time`.
  Status close();
  /// Size including the log that was there before.
  std::uint64_t size_bytes() const;
  /// Appended data in memory that are not in the store yet.
  std::uint64_t waiting_bytes() const;
  const Location& location() const { return location_; }

 private:
  using Clock = Background::Clock;
  enum class Part { kWholeRecords, kAll };

  // Records of one segment that waits for the store: in memory, or in a file alone.
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
  Status told(Status written);

  const Location location_;
  const SegmentLogOptions options_;
  Background& background_;

  std::mutex writing_;  // taken before mutex_; held while a segment is written, so they stay in order
  std::uint64_t next_segment_ = 0;
  bool must_replace_ = false;  // the segments that were there are still there

  mutable std::mutex mutex_;
  /// Before the buffer; only `write` takes them out, unchanged: the answer to an earlier attempt may be lost.
  std::deque<Waiting> waiting_;
  bool is_writing_ = false;  // the first of them
  Bytes buffer_;
  Spool spool_;
  std::optional<Journal> journal_;        // from the first record on
  std::uint64_t first_journal_file_ = 0;  // a segment's number is that of its file, or a later one
  std::uint64_t refused_bytes_ = 0;       // that are still to come of a record whose beginning was refused
  std::uint64_t size_bytes_ = 0;
  Clock::time_point not_before_;            // the next segment that a flush asks for
  bool is_put_off_ = false;                 // a task writes later, or now
  bool is_writing_later_ = false;           // it writes now
  std::optional<Clock::time_point> later_;  // when another task is due, once that one is done
  bool has_failed_ = false;                 // the last write
  bool is_left_in_journal_ = false;         // what the last `close` did not write
  Status untold_;                           // the error of a write that nobody waited for
  Status lost_;  // why spooled records were lost; told once, by the next flush or close
};

}  // namespace headrace
