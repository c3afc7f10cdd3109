#include "headrace/record/event_migration.h"

#include "headrace/base/text.h"
#include "headrace/record/event_wire.h"

namespace headrace {
namespace {

constexpr std::string_view kRunGraphTag = "__run_graph__";
// ImagePluginData and AudioPluginData of converted values. The audio is WAV.
constexpr std::string_view kConvertedImage = "\x10\x01";
constexpr std::string_view kConvertedAudio = "\x10\x0b\x18\x01";

Error does_not_fit(const SummaryValue& value, std::string_view why) {
  return {Code::kDataLoss, concat("value of tag \"", printable_line(value.tag, 200), "\": ", why)};
}

MetadataView converted(const SummaryValue& value, std::string_view plugin, std::string_view content,
                       DataClass data_class) {
  MetadataView metadata;
  metadata.plugin_name = plugin;
  metadata.plugin_content = as_bytes(content);
  metadata.display_name = value.metadata.display_name.empty() ? value.tag : value.metadata.display_name;
  metadata.description = value.metadata.description;
  metadata.data_class = data_class;
  return metadata;
}

MetadataView metadata_of(const SummaryValue& value) {
  switch (value.form) {
    case ValueForm::kSimpleValue:
      return converted(value, "scalars", {}, DataClass::kScalar);
    case ValueForm::kHistogram:
      return converted(value, "histograms", {}, DataClass::kTensor);
    case ValueForm::kImage:
      return converted(value, "images", kConvertedImage, DataClass::kBlobSequence);
    case ValueForm::kAudio:
      return converted(value, "audio", kConvertedAudio, DataClass::kBlobSequence);
    default:
      return value.metadata;
  }
}

bool has_class(DataClass data_class) { return data_class != DataClass::kUnknown; }

}  // namespace

DataClass data_class_of_plugin(std::string_view plugin) {
  struct Known {
    std::string_view plugin;
    DataClass data_class;
  };
  static constexpr Known kKnown[] = {
      {"scalars", DataClass::kScalar},
      {"histograms", DataClass::kTensor},
      {"text", DataClass::kTensor},
      {"hparams", DataClass::kTensor},
      {"pr_curves", DataClass::kTensor},
      {"mesh", DataClass::kTensor},
      {"custom_scalars", DataClass::kTensor},
      {"images", DataClass::kBlobSequence},
      {"audio", DataClass::kBlobSequence},
      {"graph_run_metadata", DataClass::kBlobSequence},
      {"graph_run_metadata_graph", DataClass::kBlobSequence},
      {"graph_keras_model", DataClass::kBlobSequence},
  };
  for (const Known& known : kKnown) {
    if (known.plugin == plugin) return known.data_class;
  }
  return DataClass::kUnknown;
}

Status EventMigration::migrate(const SummaryValue& value, const SeriesKind* known, MigratedValue& out) {
  out.tag = value.tag;
  if (known != nullptr) {
    out.kind = *known;
  } else {
    out.metadata = metadata_of(value);
    const bool tells = has_class(out.metadata.data_class);
    if (!tells) out.metadata.data_class = data_class_of_plugin(out.metadata.plugin_name);
    out.kind = {out.metadata.data_class, !tells && out.metadata.plugin_name == "audio"};
  }
  switch (out.kind.data_class) {
    case DataClass::kScalar: {
      if (value.form == ValueForm::kSimpleValue) {
        out.scalar = value.simple_value;
        return {};
      }
      if (value.form != ValueForm::kTensor) return does_not_fit(value, "not a scalar");
      HEADRACE_TRY(const TensorProtoView tensor, parse_tensor(value.content));
      const std::optional<double> scalar = tensor.scalar();
      if (!scalar) return does_not_fit(value, "a tensor that is not a number");
      out.scalar = *scalar;
      return {};
    }
    case DataClass::kTensor:
      return migrate_tensor(value, out);
    case DataClass::kBlobSequence:
      return migrate_blobs(value, out);
    default:
      return {};
  }
}

Status EventMigration::migrate_tensor(const SummaryValue& value, MigratedValue& out) {
  if (value.form == ValueForm::kHistogram) return migrate_histogram(value, out);
  if (value.form == ValueForm::kTensor) {
    HEADRACE_TRY(const TensorProtoView tensor, parse_tensor(value.content));
    out.tensor = tensor.message;
    return {};
  }
  // A hyperparameter value consists only of metadata.
  if (value.form != ValueForm::kNone) return does_not_fit(value, "not a tensor");
  scratch_.clear();
  WireWriter tensor(scratch_);
  tensor.varint(tensor_field::kDtype, dtype::kFloat);
  write_shape(tensor, {0});
  out.tensor = scratch_;
  return {};
}

Status EventMigration::migrate_histogram(const SummaryValue& value, MigratedValue& out) {
  HEADRACE_TRY(const HistogramView histogram, parse_histogram(value.content));
  std::size_t edge_count = 0, bucket_count = 0, begin = 0, end = 0;  // [begin, end) holds every count above 0
  for_each_double(histogram, kHistogramEdges, [&](double) { ++edge_count; });
  for_each_double(histogram, kHistogramCounts, [&](double count) {
    if (count > 0 && end == 0) begin = bucket_count;
    ++bucket_count;
    if (count > 0) end = bucket_count;
  });
  if (edge_count != bucket_count)
    return does_not_fit(value, "a histogram whose edges and counts differ in number");
  const std::size_t rows = end - begin;
  struct Row {
    float left, right, count;
  };
  Bytes table(rows * sizeof(Row));
  const auto put = [&](std::size_t row, std::size_t column, double number) {
    store_little_endian(table.data() + row * sizeof(Row) + column * sizeof(float),
                        static_cast<float>(number));
  };
  std::size_t place = 0;
  for_each_double(histogram, kHistogramEdges, [&](double edge) {
    if (place >= begin && place + 1 < end) {
      put(place - begin, 1, edge);
      put(place - begin + 1, 0, edge);
    }
    ++place;
  });
  place = 0;
  for_each_double(histogram, kHistogramCounts, [&](double count) {
    if (place >= begin && place < end) put(place - begin, 2, count);
    ++place;
  });
  if (rows > 0) {
    put(0, 0, histogram.least);
    put(rows - 1, 1, histogram.greatest);
  }
  scratch_.clear();
  WireWriter tensor(scratch_);
  tensor.varint(tensor_field::kDtype, dtype::kFloat);
  write_shape(tensor, {rows, 3});
  tensor.bytes(tensor_field::kContent, table);
  out.tensor = scratch_;
  return {};
}

Status EventMigration::migrate_blobs(const SummaryValue& value, MigratedValue& out) {
  blobs_.clear();
  if (value.form == ValueForm::kImage) {
    HEADRACE_TRY(const ImageView image, parse_image(value.content));
    width_ = concat(image.width);
    height_ = concat(image.height);
    blobs_ = {as_bytes(width_), as_bytes(height_), image.encoded};
  } else if (value.form == ValueForm::kAudio) {
    HEADRACE_TRY(const AudioView audio, parse_audio(value.content));
    blobs_ = {audio.encoded};
  } else if (value.form == ValueForm::kTensor) {
    HEADRACE_TRY(const TensorProtoView tensor, parse_tensor(value.content));
    if (tensor.dtype != dtype::kString) return does_not_fit(value, "a tensor that holds no blobs");
    std::uint64_t stride = 1;
    if (out.kind.first_column_only && tensor.rank > 1 && tensor.sizes[0] > 0) {
      stride = tensor.element_count / static_cast<std::uint64_t>(tensor.sizes[0]);
    }
    StringReader elements(tensor);
    std::uint64_t place = 0;
    for (BytesView element; stride > 0 && blobs_.size() < kMaxBlobs && elements.next(element); ++place) {
      if (place % stride == 0) blobs_.push_back(element);
    }
  } else {
    return does_not_fit(value, "no blobs");
  }
  out.blobs = blobs_;
  return {};
}

bool EventMigration::migrate_event(const EventView& event, MigratedValue& out) {
  const bool is_graph = event.kind == EventKind::kGraphDef;
  if (!is_graph && event.kind != EventKind::kTaggedRunMetadata) return false;
  out = {};
  out.tag = is_graph ? kRunGraphTag : event.run_metadata_tag;
  out.metadata.plugin_name = is_graph ? "graphs" : "graph_tagged_run_metadata";
  out.metadata.data_class = DataClass::kBlobSequence;
  out.kind.data_class = DataClass::kBlobSequence;
  blobs_ = {event.content};
  out.blobs = blobs_;
  return true;
}

}  // namespace headrace
