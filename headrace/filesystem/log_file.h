#pragma once

/// \file A log of events that grows as a sequence of objects which never change: the segments of
/// docs/tensorflow-file-systems.md, "Event files".

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>

#include "headrace/filesystem/background.h"
#include "headrace/store/location.h"

namespace headrace {

struct LogFileOptions {
  /// What every segment after the first begins with: the `file_version` record of an event file.
  Bytes segment_header;
  /// Tests pass their own.
  std::function<Background::Clock::time_point()> now = Background::Clock::now;
};

/// Thread-safe. `background` must outlive it.
///
/// What the store does not take, because it cannot be reached, is kept and offered again by later flushes, up
/// to kMostHeldBytes, so that an outage of the store does not end a training.
class LogFile : public std::enable_shared_from_this<LogFile> {
 public:
  /// How soon after opening, or after a segment, the next is written, however often it is flushed.
  static constexpr std::chrono::seconds kLeastInterval{1};
  /// The same after one that failed.
  static constexpr std::chrono::seconds kRetryInterval{10};
  /// So much is written without a flush, in the background.
  static constexpr std::size_t kMostSegmentBytes = 8 << 20;
  /// Who has appended so much that waits should `make_room`.
  static constexpr std::size_t kFullBytes = 4 * kMostSegmentBytes;
  static constexpr std::size_t kMostHeldBytes = 64 << 20;

  /// Writes nothing yet. `goes_on`: the log is appended to, after what is there.
  static Result<std::shared_ptr<LogFile>> open(Location location, bool goes_on, LogFileOptions options,
                                               Background& background);
  /// Writes what is left. Call `close` before to have the error.
  ~LogFile();

  /// Never waits for the store.
  /// \error kResourceExhausted  the store has failed, and more than kMostHeldBytes wait for it: what was
  /// appended of this record is dropped, too
  Status append(BytesView data);
  /// The store takes what is appended, but more slowly.
  bool is_full() const;
  /// Waits for the store where the log is full. \error of the store; what was appended is kept
  Status make_room();
  /// What was appended, up to the last whole record, is in the store within kLeastInterval, or, after a write
  /// that failed, kRetryInterval. \error of the store, also of an earlier write that nobody waited for
  Status flush();
  /// All is in the store. May be repeated after an error.
  Status close();
  /// With what was there before.
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
