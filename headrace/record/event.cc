#include "headrace/record/event.h"

#include <algorithm>
#include <cmath>

#include "headrace/base/text.h"
#include "headrace/record/event_reader.h"
#include "headrace/record/event_wire.h"

namespace headrace {
namespace {

constexpr std::string_view kFileVersion = "brain.Event:2";

struct ValueKind {
  std::string_view plugin;
  DataClass data_class;
  std::string_view content{};
};
constexpr ValueKind kScalars{"scalars", DataClass::kScalar};
constexpr ValueKind kHistograms{"histograms", DataClass::kTensor};
constexpr ValueKind kText{"text", DataClass::kTensor};
constexpr ValueKind kImages{"images", DataClass::kBlobSequence};
constexpr ValueKind kAudio{"audio", DataClass::kBlobSequence, "\x10\x0b"};  // encoding: WAV
constexpr ValueKind kTable{kTablePlugin, DataClass::kBlobSequence};

void write_metadata(WireWriter& value, const ValueKind& kind, const SeriesLabel& label) {
  value.message(value_field::kMetadata, [&](WireWriter& metadata) {
    metadata.message(metadata_field::kPluginData, [&](WireWriter& data) {
      data.text(metadata_field::kPluginName, kind.plugin);
      if (!kind.content.empty()) data.text(metadata_field::kPluginContent, kind.content);
    });
    if (!label.display_name.empty()) metadata.text(metadata_field::kDisplayName, label.display_name);
    if (!label.description.empty()) metadata.text(metadata_field::kDescription, label.description);
    metadata.varint(metadata_field::kDataClass, static_cast<std::uint64_t>(kind.data_class));
  });
}

// Writes one Summary.Value. Only the first value of a tag has metadata.
template <typename WriteTensor>
void write_value(WireWriter& summary, std::string_view tag, bool first, const ValueKind& kind,
                 const SeriesLabel& label, WriteTensor&& write_tensor) {
  summary.message(kSummaryValue, [&](WireWriter& value) {
    value.text(value_field::kTag, tag);
    value.message(value_field::kTensor, write_tensor);
    if (first) write_metadata(value, kind, label);
  });
}

// Appends an event with one value.
template <typename WriteTensor>
void append_value(Bytes& out, const EventStamp& stamp, std::string_view tag, bool first,
                  const ValueKind& kind, const SeriesLabel& label, WriteTensor&& write_tensor) {
  append_event(out, stamp, [&](WireWriter& event) {
    event.message(event_field::kSummary,
                  [&](WireWriter& summary) { write_value(summary, tag, first, kind, label, write_tensor); });
  });
}

void write_scalar(WireWriter& tensor, float value) {
  tensor.varint(tensor_field::kDtype, dtype::kFloat);
  write_shape(tensor, {});
  tensor.bytes(tensor_field::kFloatVal, std::as_bytes(std::span(&value, 1)));
}

template <typename Number>
std::vector<HistogramBucket> count_into_buckets(std::span<const Number> values, int bucket_count) {
  double low = 0, high = 0, total = 0;
  for (const Number value : values) {
    if (!std::isfinite(value)) continue;
    low = total == 0 ? value : std::min<double>(low, value);
    high = total == 0 ? value : std::max<double>(high, value);
    ++total;
  }
  if (total == 0) return {};
  std::vector<HistogramBucket> buckets(static_cast<std::size_t>(std::max(bucket_count, 1)));
  // The range of doubles can be larger than the largest double. Half of it never is.
  const double scale = std::isfinite(high - low) ? 1 : 0.5;
  const double width = (high * scale - low * scale) / static_cast<double>(buckets.size());
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    buckets[i].left = (low * scale + width * static_cast<double>(i)) / scale;
    buckets[i].right =
        i + 1 == buckets.size() ? high : (low * scale + width * static_cast<double>(i + 1)) / scale;
  }
  if (high == low) {
    buckets.back().count = total;
    return buckets;
  }
  for (const Number value : values) {
    if (!std::isfinite(value)) continue;
    // If all values are subnormal, the width of a bucket may be 0.
    const double place = width > 0 ? (value * scale - low * scale) / width : 0;
    ++buckets[std::min(static_cast<std::size_t>(place), buckets.size() - 1)].count;
  }
  return buckets;
}

}  // namespace

std::vector<HistogramBucket> make_histogram(std::span<const float> values, int bucket_count) {
  return count_into_buckets(values, bucket_count);
}

std::vector<HistogramBucket> make_histogram(std::span<const double> values, int bucket_count) {
  return count_into_buckets(values, bucket_count);
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
        write_value(summary, scalar.tag, is_first(scalar.tag), kScalars, {},
                    [&](WireWriter& tensor) { write_scalar(tensor, scalar.value); });
      }
    });
  });
}

void EventEncoder::scalar(Bytes& out, const EventStamp& stamp, std::string_view tag, float value,
                          const SeriesLabel& label) {
  append_value(out, stamp, tag, is_first(tag), kScalars, label,
               [&](WireWriter& tensor) { write_scalar(tensor, value); });
}

void EventEncoder::histogram(Bytes& out, const EventStamp& stamp, std::string_view tag,
                             std::span<const HistogramBucket> buckets, const SeriesLabel& label) {
  static_assert(sizeof(HistogramBucket) == 3 * sizeof(double), "a row of the tensor");
  append_value(out, stamp, tag, is_first(tag), kHistograms, label, [&](WireWriter& tensor) {
    tensor.varint(tensor_field::kDtype, dtype::kDouble);
    write_shape(tensor, {buckets.size(), 3});
    tensor.bytes(tensor_field::kContent, std::as_bytes(buckets));
  });
}

void EventEncoder::text(Bytes& out, const EventStamp& stamp, std::string_view tag, std::string_view text,
                        const SeriesLabel& label) {
  append_value(out, stamp, tag, is_first(tag), kText, label, [&](WireWriter& tensor) {
    tensor.varint(tensor_field::kDtype, dtype::kString);
    write_shape(tensor, {});
    tensor.text(tensor_field::kStringVal, text);
  });
}

void EventEncoder::images(Bytes& out, const EventStamp& stamp, std::string_view tag, const ImageList& images,
                          const SeriesLabel& label) {
  append_value(out, stamp, tag, is_first(tag), kImages, label, [&](WireWriter& tensor) {
    tensor.varint(tensor_field::kDtype, dtype::kString);
    write_shape(tensor, {images.encoded.size() + 2});
    tensor.text(tensor_field::kStringVal, concat(images.width));
    tensor.text(tensor_field::kStringVal, concat(images.height));
    for (const BytesView image : images.encoded) tensor.bytes(tensor_field::kStringVal, image);
  });
}

void EventEncoder::audio(Bytes& out, const EventStamp& stamp, std::string_view tag,
                         std::span<const BytesView> clips, const SeriesLabel& label) {
  append_value(out, stamp, tag, is_first(tag), kAudio, label, [&](WireWriter& tensor) {
    tensor.varint(tensor_field::kDtype, dtype::kString);
    write_shape(tensor, {clips.size()});
    for (const BytesView clip : clips) tensor.bytes(tensor_field::kStringVal, clip);
  });
}

void EventEncoder::table(Bytes& out, const EventStamp& stamp, std::string_view tag, std::string_view json,
                         const SeriesLabel& label) {
  append_value(out, stamp, tag, is_first(tag), kTable, label, [&](WireWriter& tensor) {
    tensor.varint(tensor_field::kDtype, dtype::kString);
    write_shape(tensor, {1});
    tensor.text(tensor_field::kStringVal, json);
  });
}

void EventEncoder::graph(Bytes& out, const EventStamp& stamp, BytesView graph_def) {
  append_event(out, stamp, [&](WireWriter& event) { event.bytes(event_field::kGraphDef, graph_def); });
}

}  // namespace headrace
