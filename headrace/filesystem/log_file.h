#pragma once

/// \file A log of events that grows as a sequence of objects that never change: the segments of
/// docs/tensorflow-file-systems.md, "Event files".

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>

#include "headrace/filesystem/background.h"
#include "headrace/store/location.h"

namespace headrace {

struct LogFileOptions {
  /// The beginning of every segment after the first: the `file_version` record of an event file.
  Bytes segment_header;
  /// Tests pass their own.
  std::function<Background::Clock::time_point()> now = Background::Clock::now;
};

/// Thread-safe. `background` must outlive it.
///
/// If the store cannot be reached, data are kept and offered again by later flushes, up to kMostHeldBytes, so
/// that an outage of the store does not end training.
class LogFile : public std::enable_shared_from_this<LogFile> {
 public:
  /// Shortest time from opening, or from a segment, to the next segment, however often the log is flushed.
  static constexpr std::chrono::seconds kLeastInterval{1};
  /// The same after a failed segment.
  static constexpr std::chrono::seconds kRetryInterval{10};
  /// This much is written without a flush, in the background.
  static constexpr std::size_t kMostSegmentBytes = 8 << 20;
  /// When this much is waiting, the thread that appends should call `make_room`.
  static constexpr std::size_t kFullBytes = 4 * kMostSegmentBytes;
  static constexpr std::size_t kMostHeldBytes = 64 << 20;

  /// Writes nothing yet. `goes_on`: append to the existing log.
  static Result<std::shared_ptr<LogFile>> open(Location location, bool goes_on, LogFileOptions options,
                                               Background& background);
  /// Writes the rest. Call `close` first to get the error.
  ~LogFile();

  /// Never waits for the store.
  /// \error kResourceExhausted  the store has failed, and more than kMostHeldBytes wait for it: the bytes
  ///                            already appended of this record are dropped, too
  Status append(BytesView data);
  /// The store accepts the appended data, but too slowly.
  bool is_full() const;
  /// Waits for the store if the log is full. \error of the store; the appended data are kept
  Status make_room();
  /// The appended data, up to the last complete record, are in the store within kLeastInterval or, after a
  /// failed write, kRetryInterval. \error of the store, also of an earlier write that nobody waited for
  Status flush();
  /// All data are in the store. May be repeated after an error.
  Status close();
  /// Size including the log that was there before.
  std::uint64_t size_bytes() const;
  const Location& location() const { return location_; }

 private:
  using Clock = Background::Clock;
  enum class Part { kWholeRecords, kAll };

  LogFile(Location location, LogFileOptions options, Background& background);

  Status refuse() const;
  void drop_record_of(BytesView data);
  Status write(Part part);
  Status write_segment(BytesView records);
  Result<bool> is_ours(const std::string& key, BytesView segment);
  void write_later(Clock::time_point time);

  const Location location_;
  const LogFileOptions options_;
  Background& background_;

  std::mutex writing_;  // taken before mutex_; held while a segment is written, so they stay in order
  std::uint64_t next_segment_ = 0;
  /// Of the buffer's beginning: sent under the next number, and it is not known whether it came through.
  std::size_t unclear_bytes_ = 0;

  mutable std::mutex mutex_;
  Bytes buffer_;
  std::size_t being_written_bytes_ = 0;
  std::uint64_t refused_bytes_ = 0;  // that are still to come of a record whose beginning was refused
  std::uint64_t size_bytes_ = 0;
  Clock::time_point not_before_;  // the next segment that a flush asks for
  bool is_put_off_ = false;
  bool has_failed_ = false;  // the last write
  Status untold_;            // the error of a write that nobody waited for
};

}  // namespace headrace
