#pragma once

/// \file The field numbers of the messages in event files, whose source docs/formats/event-file.md names, and
/// the framing of an event. Private to record/.

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "headrace/base/wire.h"
#include "headrace/record/event.h"
#include "headrace/record/tfrecord.h"

namespace headrace {

namespace event_field {
inline constexpr std::uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kGraphDef = 4, kSummary = 5,
                               kLogMessage = 6, kSessionLog = 7, kTaggedRunMetadata = 8, kMetaGraphDef = 9,
                               kSourceMetadata = 10;
}
namespace value_field {
inline constexpr std::uint32_t kTag = 1, kSimpleValue = 2, kImage = 4, kHistogram = 5, kAudio = 6,
                               kNodeName = 7, kTensor = 8, kMetadata = 9;
}
namespace metadata_field {
inline constexpr std::uint32_t kPluginData = 1, kDisplayName = 2, kDescription = 3, kDataClass = 4,
                               kPluginName = 1, kPluginContent = 2;
}
namespace tensor_field {
inline constexpr std::uint32_t kDtype = 1, kShape = 2, kContent = 4, kFloatVal = 5, kDoubleVal = 6,
                               kIntVal = 7, kStringVal = 8, kInt64Val = 10, kBoolVal = 11, kHalfVal = 13,
                               kUint32Val = 16, kUint64Val = 17;
inline constexpr std::uint32_t kDimension = 2, kUnknownRank = 3, kDimensionSize = 1, kDimensionName = 2;
}  // namespace tensor_field
inline constexpr std::uint32_t kSummaryValue = 1, kSourceWriter = 1;

/// Appends a framed Event: its stamp, then the fields that `write(WireWriter&)` writes.
template <typename Write>
void append_event(Bytes& out, const EventStamp& stamp, Write&& write) {
  const std::size_t offset = begin_record(out);
  WireWriter event(out);
  event.fixed64(event_field::kWallTime, stamp.wall_time_s);
  if (stamp.step != 0) event.varint(event_field::kStep, static_cast<std::uint64_t>(stamp.step));
  write(event);
  end_record(out, offset);
}

inline void write_shape(WireWriter& tensor, std::initializer_list<std::uint64_t> sizes) {
  tensor.message(tensor_field::kShape, [&](WireWriter& shape) {
    for (const std::uint64_t size : sizes) {
      shape.message(tensor_field::kDimension,
                    [&](WireWriter& dimension) { dimension.varint(tensor_field::kDimensionSize, size); });
    }
  });
}

}  // namespace headrace
