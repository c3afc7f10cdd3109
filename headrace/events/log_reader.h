#pragma once

/// \file Reads one log from its objects, and continues when they grow: the table in docs/tensorboard.md,
/// "Following".

#include <functional>
#include <string>
#include <vector>

#include "headrace/events/log_layout.h"
#include "headrace/events/run.h"
#include "headrace/record/event_stream.h"
#include "headrace/store/store.h"

namespace headrace {

struct LogReading {
  Store& store;
  Run& run;
  /// Called for the first damage in each object, by the threads that read.
  const std::function<void(const std::string&)>& warn;
  CallOptions call{};
  /// Called after each piece; true stops the reading for now.
  std::function<bool()> must_pause = [] { return false; };
};

/// Not thread-safe.
class LogReader {
 public:
  static constexpr std::size_t kPieceBytes = 8 << 20;
  /// Before reading continues, this many of the last bytes read are compared with the object.
  static constexpr std::size_t kTailBytes = 64;

  LogReader(LogId id, std::string name) : id_(id), name_(std::move(name)) {}

  /// True if these segments, from a new listing, hold anything that `advance` has not read.
  bool is_behind(const LogSegments& segments) const;

  /// Brings `run` up to date with the segments or, if `must_pause` asks for a pause, closer to that. An
  /// object that vanished or shrank since it was listed is not an error: the next listing shows the change.
  /// An archived object is left out, with a warning. If a part that was read has changed, forgets the log
  /// and reads it again. After an error or a pause, the next call continues where this one stopped.
  /// \error of the store
  Status advance(const LogReading& reading, const LogSegments& segments);

  LogId id() const { return id_; }
  const std::string& name() const { return name_; }

 private:
  struct Seen {
    std::string key;
    std::uint64_t size_bytes = 0;
    Version version;  // empty: not read to its end yet
  };

  void forget(Run& run);
  bool is_finished_part_changed(const LogSegments& segments) const;
  Status read_segment(const LogReading& reading, const ObjectInfo& object);
  void warn_of_cut_off(const LogReading& reading);
  Result<bool> continues(const LogReading& reading, const ObjectInfo& object);
  Result<std::size_t> read_piece(const LogReading& reading, const ObjectInfo& object);

  const LogId id_;
  const std::string name_;
  std::vector<Seen> seen_;  // all but the last are finished
  EventStream stream_;      // of the last segment
  Bytes tail_;
  bool broken_ = false;
  bool has_warned_ = false;
};

}  // namespace headrace
