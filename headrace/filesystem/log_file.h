#pragma once

/// \file A log of events that grows as a sequence of objects which never change: the segments of
/// docs/tensorflow-file-systems.md, "Event files".

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>

#include "headrace/filesystem/background.h"
#include "headrace/store/registry.h"

namespace headrace {

struct LogFileOptions {
  /// What every segment after the first begins with: the `file_version` record of an event file.
  std::function<Bytes()> segment_header;
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
  /// So much is written without a flush.
  static constexpr std::size_t kMostSegmentBytes = 8 << 20;
  static constexpr std::size_t kMostHeldBytes = 64 << 20;

  /// Writes nothing yet. `goes_on`: the log is appended to, after what is there.
  static Result<std::shared_ptr<LogFile>> open(Location location, bool goes_on, LogFileOptions options,
                                               Background& background);
  /// Writes what is left. Call `close` before to have the error.
  ~LogFile();

  /// Does not wait for the store.
  /// \error kResourceExhausted  more than kMostHeldBytes wait for the store
  Status append(BytesView data);
  /// What was appended, up to the last whole record, is in the store within kLeastInterval.
  Status flush();
  /// As `flush`, but does not wait for the store. What cannot be written then is told by a later `flush`.
  void flush_soon();
  /// All is in the store.
  Status close();
  std::uint64_t size_bytes() const;
  const Location& location() const { return location_; }

 private:
  using Clock = Background::Clock;
  enum class Part { kWholeRecords, kAll };

  LogFile(Location location, LogFileOptions options, Background& background);

  Status write(Part part);
  Status write_segment(BytesView records);
  void put_off();

  const Location location_;
  const LogFileOptions options_;
  Background& background_;

  std::mutex writing_;  // taken before mutex_; held while a segment is written, so they stay in order
  std::uint64_t next_segment_ = 0;

  mutable std::mutex mutex_;
  Bytes buffer_;
  std::uint64_t size_bytes_ = 0;
  Clock::time_point not_before_;  // the next segment
  bool is_put_off_ = false;
};

}  // namespace headrace
