#pragma once

/// \file Event files of a run: one immutable segment for each epoch, named by the epoch and its owner. If a
/// later owner trains an epoch again, the former owner's segment is removed, so no event is there twice.

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "headrace/record/event.h"
#include "headrace/store/location.h"

namespace headrace {

class EventLog {
 public:
  /// `folder` is the folder where TensorBoard finds one curve, such as "RUN/events/train". `writer` names the
  /// program, such as "headrace 0.1.0". The names of this owner's segments end in `suffix`.
  EventLog(Location folder, std::string writer, std::string suffix);

  /// Begins the segment of epoch `epoch` (from 1). Call it before the functions that add events.
  void begin(std::uint64_t epoch, double wall_time_s);
  void scalar(const EventStamp& stamp, std::string_view tag, float value);
  void histogram(const EventStamp& stamp, std::string_view tag, std::span<const float> values);
  void graph(const EventStamp& stamp, BytesView graph_def);
  /// Writes the segment to the store, which has nothing of it before.
  Status end();

 private:
  const Location folder_;
  const std::string writer_;
  const std::string suffix_;
  EventEncoder encoder_;
  std::string name_;
  Bytes segment_;
};

/// Removes superseded segments of owners before the one with entry `owner`: all segments of epochs after
/// `epoch`, and those of earlier epochs that a later owner has written again. `epoch` is the last completed
/// epoch. Segments of later owners stay, so a process that has lost the run unnoticed does no harm. Call it
/// before the first epoch that this owner trains, and again when the run is finished, because an earlier
/// owner may have written its last segment meanwhile. Cost: one listing.
Status remove_superseded_segments(const Location& folder, std::uint64_t epoch, std::uint64_t owner);

}  // namespace headrace
