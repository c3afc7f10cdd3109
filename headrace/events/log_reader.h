#pragma once

/// \file Reads one log from its objects, and continues as they grow: the table in docs/tensorboard.md,
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
  /// Told of the first damage in each object. Called by the threads that read.
  const std::function<void(const std::string&)>& warn;
  CallOptions call{};
  /// Asked after each piece.
  std::function<bool()> must_pause = [] { return false; };
};

/// One thread at a time.
class LogReader {
 public:
  static constexpr std::size_t kPieceBytes = 8 << 20;
  /// Number of the last bytes read that are compared before reading continues.
  static constexpr std::size_t kTailBytes = 64;

  LogReader(LogId id, std::string name) : id_(id), name_(std::move(name)) {}

  /// Whether a listing that shows these segments has news for `advance`.
  bool is_behind(const LogSegments& segments) const;

  /// Brings `run` up to date with the segments or, if it has to pause, nearer to that. An object that
  /// vanished or shrank since it was listed is not an error: the next listing shows it. An archived object is
  /// left out. After an error or a pause, the next call continues where this one stopped.
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
  void tell_cut_off(const LogReading& reading);
  Result<bool> continues(const LogReading& reading, const ObjectInfo& object);
  Result<std::size_t> read_piece(const LogReading& reading, const ObjectInfo& object);

  const LogId id_;
  const std::string name_;
  std::vector<Seen> seen_;  // all but the last are finished
  EventStream stream_;      // of the last
  Bytes tail_;
  bool broken_ = false;
  bool told_ = false;
};

}  // namespace headrace
