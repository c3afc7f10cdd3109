#pragma once

/// \file Event files of a run: one immutable segment for each epoch, named by the epoch and its owner. If
/// another owner runs an epoch again, the segment of the former one goes, so no event is there twice.

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "headrace/record/event.h"
#include "headrace/store/location.h"

namespace headrace {

class EventLog {
 public:
  /// `folder` is where TensorBoard looks for one curve, such as "RUN/events/train". `writer` such as
  /// "headrace 0.1.0". `suffix` ends the names of this owner's segments.
  EventLog(Location folder, std::string writer, std::string suffix);

  /// Starts the segment of epoch `epoch` (from 1).
  void begin(std::uint64_t epoch, double wall_time_s);
  void scalar(const EventStamp& stamp, std::string_view tag, float value);
  void histogram(const EventStamp& stamp, std::string_view tag, std::span<const float> values);
  void graph(const EventStamp& stamp, BytesView graph_def);
  /// Writes the segment. Before that, nothing of it is in the store.
  Status end();

 private:
  const Location folder_;
  const std::string writer_;
  const std::string suffix_;
  EventEncoder encoder_;
  std::string name_;
  Bytes segment_;
};

/// Removes what owners before the one with entry `owner` have left: segments of epochs after `epoch`, and of
/// the others those that a later owner has written, too. `epoch` is the last one that is completed. Segments
/// of later owners stay, so a process that has lost the run without knowing it does no harm. Call it before
/// the first epoch that this owner trains; and once the run is finished, as an earlier owner may have written
/// its last segment meanwhile.
Status remove_superseded_segments(const Location& folder, std::uint64_t epoch, std::uint64_t owner);

}  // namespace headrace
