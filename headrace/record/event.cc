#include "headrace/record/event.h"

#include <algorithm>
#include <cmath>

#include "headrace/base/text.h"
#include "headrace/base/wire.h"
#include "headrace/record/tfrecord.h"

namespace headrace {
namespace {

// tensorflow/core/util/event.proto
namespace event_field {
constexpr std::uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kGraphDef = 4, kSummary = 5,
                        kSourceMetadata = 10;
}
// tensorflow/core/framework/summary.proto: Summary.Value, SummaryMetadata, PluginData
namespace value_field {
constexpr std::uint32_t kTag = 1, kTensor = 8, kMetadata = 9;
}
constexpr std::uint32_t kMetadataPluginData = 1, kMetadataDataClass = 4, kPluginName = 1, kSummaryValue = 1,
                        kSourceWriter = 1;
constexpr std::uint32_t kClassScalar = 1, kClassTensor = 2;
// tensorflow/core/framework/tensor.proto and types.proto
namespace tensor_field {
constexpr std::uint32_t kDtype = 1, kShape = 2, kContent = 4, kFloatVal = 5, kStringVal = 8;
}
constexpr std::uint32_t kFloat = 1, kDouble = 2, kString = 7;
constexpr std::string_view kFileVersion = "brain.Event:2";

void write_stamp(WireWriter& event, const EventStamp& stamp) {
  event.fixed64(event_field::kWallTime, stamp.wall_time_s);
  if (stamp.step != 0) event.varint(event_field::kStep, static_cast<std::uint64_t>(stamp.step));
}

// Frames what `write` puts into an Event after its stamp.
template <typename Write>
void append_event(Bytes& out, const EventStamp& stamp, Write&& write) {
  const std::size_t offset = begin_record(out);
  WireWriter event(out);
  write_stamp(event, stamp);
  write(event);
  end_record(out, offset);
}

// One Summary.Value; `metadata` is written for the first of a tag only.
template <typename WriteTensor>
void write_value(WireWriter& summary, std::string_view tag, bool first, std::string_view plugin,
                 std::uint32_t data_class, WriteTensor&& write_tensor) {
  summary.message(kSummaryValue, [&](WireWriter& value) {
    value.text(value_field::kTag, tag);
    value.message(value_field::kTensor, write_tensor);
    if (!first) return;
    value.message(value_field::kMetadata, [&](WireWriter& metadata) {
      metadata.message(kMetadataPluginData, [&](WireWriter& data) { data.text(kPluginName, plugin); });
      metadata.varint(kMetadataDataClass, data_class);
    });
  });
}

void write_shape(WireWriter& tensor, std::initializer_list<std::uint64_t> sizes) {
  tensor.message(tensor_field::kShape, [&](WireWriter& shape) {
    for (const std::uint64_t size : sizes) {
      shape.message(2, [&](WireWriter& dimension) { dimension.varint(1, size); });
    }
  });
}

}  // namespace

std::vector<HistogramBucket> make_histogram(std::span<const float> values, int bucket_count) {
  double low = 0, high = 0, total = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    low = total == 0 ? value : std::min<double>(low, value);
    high = total == 0 ? value : std::max<double>(high, value);
    ++total;
  }
  if (total == 0) return {};
  std::vector<HistogramBucket> buckets(static_cast<std::size_t>(std::max(bucket_count, 1)));
  const double width = (high - low) / static_cast<double>(buckets.size());
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    buckets[i].left = low + width * static_cast<double>(i);
    buckets[i].right = i + 1 == buckets.size() ? high : low + width * static_cast<double>(i + 1);
  }
  if (high == low) {
    buckets.back().count = total;
    return buckets;
  }
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const auto place = static_cast<std::size_t>((value - low) / width);
    ++buckets[std::min(place, buckets.size() - 1)].count;
  }
  return buckets;
}

bool EventEncoder::is_first(std::string_view tag) {
  if (tags_.contains(tag)) return false;
  tags_.emplace(tag);
  return true;
}

void EventEncoder::begin_file(Bytes& out, double wall_time_s, std::string_view writer) {
  tags_.clear();
  append_event(out, {wall_time_s, 0}, [&](WireWriter& event) {
    event.text(event_field::kFileVersion, kFileVersion);
    if (writer.empty()) return;
    event.message(event_field::kSourceMetadata,
                  [&](WireWriter& source) { source.text(kSourceWriter, writer); });
  });
}

void EventEncoder::scalars(Bytes& out, const EventStamp& stamp, std::span<const ScalarValue> values) {
  append_event(out, stamp, [&](WireWriter& event) {
    event.message(event_field::kSummary, [&](WireWriter& summary) {
      for (const ScalarValue& scalar : values) {
        write_value(summary, scalar.tag, is_first(scalar.tag), "scalars", kClassScalar,
                    [&](WireWriter& tensor) {
                      tensor.varint(tensor_field::kDtype, kFloat);
                      write_shape(tensor, {});
                      tensor.bytes(tensor_field::kFloatVal, std::as_bytes(std::span(&scalar.value, 1)));
                    });
      }
    });
  });
}

void EventEncoder::scalar(Bytes& out, const EventStamp& stamp, std::string_view tag, float value) {
  const ScalarValue one{tag, value};
  scalars(out, stamp, {&one, 1});
}

void EventEncoder::histogram(Bytes& out, const EventStamp& stamp, std::string_view tag,
                             std::span<const HistogramBucket> buckets) {
  static_assert(sizeof(HistogramBucket) == 3 * sizeof(double), "a row of the tensor");
  append_event(out, stamp, [&](WireWriter& event) {
    event.message(event_field::kSummary, [&](WireWriter& summary) {
      write_value(summary, tag, is_first(tag), "histograms", kClassTensor, [&](WireWriter& tensor) {
        tensor.varint(tensor_field::kDtype, kDouble);
        write_shape(tensor, {buckets.size(), 3});
        tensor.bytes(tensor_field::kContent, std::as_bytes(buckets));
      });
    });
  });
}

void EventEncoder::text(Bytes& out, const EventStamp& stamp, std::string_view tag, std::string_view text) {
  append_event(out, stamp, [&](WireWriter& event) {
    event.message(event_field::kSummary, [&](WireWriter& summary) {
      write_value(summary, tag, is_first(tag), "text", kClassTensor, [&](WireWriter& tensor) {
        tensor.varint(tensor_field::kDtype, kString);
        write_shape(tensor, {});
        tensor.text(tensor_field::kStringVal, text);
      });
    });
  });
}

void EventEncoder::graph(Bytes& out, const EventStamp& stamp, BytesView graph_def) {
  append_event(out, stamp, [&](WireWriter& event) { event.bytes(event_field::kGraphDef, graph_def); });
}

}  // namespace headrace
