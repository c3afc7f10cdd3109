#include "headrace/record/event_reader.h"

#include "headrace/base/text.h"
#include "headrace/record/event_wire.h"

namespace headrace {
namespace {

Error malformed_event(std::string_view what) { return {Code::kDataLoss, concat("malformed ", what)}; }

EventKind kind_of(std::uint32_t field) {
  switch (field) {
    case event_field::kFileVersion:
      return EventKind::kFileVersion;
    case event_field::kGraphDef:
      return EventKind::kGraphDef;
    case event_field::kSummary:
      return EventKind::kSummary;
    case event_field::kLogMessage:
      return EventKind::kLogMessage;
    case event_field::kSessionLog:
      return EventKind::kSessionLog;
    case event_field::kTaggedRunMetadata:
      return EventKind::kTaggedRunMetadata;
    case event_field::kMetaGraphDef:
      return EventKind::kMetaGraphDef;
    default:
      return EventKind::kNone;
  }
}

bool read_session_log(EventView& event) {
  WireReader reader(event.content);
  for (WireField field; reader.next(field);) {
    if (field.number != 1 || field.type != WireType::kVarint) continue;
    event.session_status =
        field.value <= 3 ? static_cast<SessionStatus>(field.value) : SessionStatus::kUnspecified;
  }
  return !reader.malformed();
}

bool read_tagged_run_metadata(EventView& event) {
  WireReader reader(event.content);
  BytesView metadata;
  for (WireField field; reader.next(field);) {
    if (field.type != WireType::kBytes) continue;
    if (field.number == 1) event.run_metadata_tag = field.as_text();
    if (field.number == 2) metadata = field.bytes;
  }
  event.content = metadata;
  return !reader.malformed();
}

bool read_writer(BytesView source, std::string_view& writer) {
  WireReader reader(source);
  for (WireField field; reader.next(field);) {
    if (field.number == kSourceWriter && field.type == WireType::kBytes) writer = field.as_text();
  }
  return !reader.malformed();
}

bool read_plugin_data(BytesView data, MetadataView& metadata) {
  WireReader reader(data);
  for (WireField field; reader.next(field);) {
    if (field.type != WireType::kBytes) continue;
    if (field.number == metadata_field::kPluginName) metadata.plugin_name = field.as_text();
    if (field.number == metadata_field::kPluginContent) metadata.plugin_content = field.bytes;
  }
  return !reader.malformed();
}

bool read_metadata(BytesView message, MetadataView& metadata) {
  metadata = {};
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.number == metadata_field::kDataClass && field.type == WireType::kVarint) {
      metadata.data_class = field.value <= 3 ? static_cast<DataClass>(field.value) : DataClass::kUnknown;
    }
    if (field.type != WireType::kBytes) continue;
    if (field.number == metadata_field::kPluginData && !read_plugin_data(field.bytes, metadata)) return false;
    if (field.number == metadata_field::kDisplayName) metadata.display_name = field.as_text();
    if (field.number == metadata_field::kDescription) metadata.description = field.as_text();
  }
  return !reader.malformed();
}

ValueForm form_of(std::uint32_t field) {
  switch (field) {
    case value_field::kTensor:
      return ValueForm::kTensor;
    case value_field::kHistogram:
      return ValueForm::kHistogram;
    case value_field::kImage:
      return ValueForm::kImage;
    case value_field::kAudio:
      return ValueForm::kAudio;
    default:
      return ValueForm::kNone;
  }
}

bool read_value(BytesView message, SummaryValue& value) {
  value = {};
  std::string_view node_name;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.type == WireType::kFixed32 && field.number == value_field::kSimpleValue) {
      value.form = ValueForm::kSimpleValue;
      value.simple_value = field.as_float();
    }
    if (field.type != WireType::kBytes) continue;
    if (field.number == value_field::kTag) {
      value.tag = field.as_text();
    } else if (field.number == value_field::kNodeName) {
      node_name = field.as_text();
    } else if (field.number == value_field::kMetadata) {
      value.has_metadata = true;
      if (!read_metadata(field.bytes, value.metadata)) return false;
    } else if (const ValueForm form = form_of(field.number); form != ValueForm::kNone) {
      value.form = form;
      value.content = field.bytes;
    }
  }
  if (value.tag.empty()) value.tag = node_name;
  return !reader.malformed();
}

}  // namespace

Result<EventView> parse_event(BytesView event) {
  EventView out;
  WireReader reader(event);
  for (WireField field; reader.next(field);) {
    if (field.number == event_field::kWallTime && field.type == WireType::kFixed64) {
      out.wall_time_s = field.as_double();
    } else if (field.number == event_field::kStep && field.type == WireType::kVarint) {
      out.step = field.as_int64();
    } else if (field.type == WireType::kBytes && field.number == event_field::kSourceMetadata) {
      if (!read_writer(field.bytes, out.writer)) return malformed_event("event");
    } else if (field.type == WireType::kBytes && kind_of(field.number) != EventKind::kNone) {
      out.kind = kind_of(field.number);
      out.content = field.bytes;
    }
  }
  if (reader.malformed()) return malformed_event("event");
  if (out.kind == EventKind::kSessionLog && !read_session_log(out))
    return malformed_event("session log of an event");
  if (out.kind == EventKind::kTaggedRunMetadata && !read_tagged_run_metadata(out)) {
    return malformed_event("run metadata of an event");
  }
  return out;
}

bool SummaryReader::next(SummaryValue& value) {
  for (WireField field; !malformed_ && fields_.next(field);) {
    if (field.number != kSummaryValue || field.type != WireType::kBytes) continue;
    malformed_ = !read_value(field.bytes, value);
    return !malformed_;
  }
  return false;
}

Status SummaryReader::status() const {
  if (malformed_ || fields_.malformed()) return malformed_event("summary of an event");
  return {};
}

Result<HistogramView> parse_histogram(BytesView histogram) {
  HistogramView out;
  out.message = histogram;
  double* const numbers[] = {&out.least, &out.greatest, &out.count, &out.sum, &out.sum_of_squares};
  WireReader reader(histogram);
  for (WireField field; reader.next(field);) {
    if (field.type == WireType::kFixed64 && field.number >= 1 && field.number <= 5) {
      *numbers[field.number - 1] = field.as_double();
    }
    const bool is_list = field.number == kHistogramEdges || field.number == kHistogramCounts;
    if (is_list && field.type == WireType::kBytes && field.bytes.size() % sizeof(double) != 0) {
      return malformed_event("histogram");
    }
  }
  if (reader.malformed()) return malformed_event("histogram");
  return out;
}

Result<ImageView> parse_image(BytesView image) {
  ImageView out;
  WireReader reader(image);
  for (WireField field; reader.next(field);) {
    if (field.number == 1 && field.type == WireType::kVarint) out.height = field.as_int64();
    if (field.number == 2 && field.type == WireType::kVarint) out.width = field.as_int64();
    if (field.number == 4 && field.type == WireType::kBytes) out.encoded = field.bytes;
  }
  if (reader.malformed()) return malformed_event("image");
  return out;
}

Result<AudioView> parse_audio(BytesView audio) {
  AudioView out;
  WireReader reader(audio);
  for (WireField field; reader.next(field);) {
    if (field.number == 1 && field.type == WireType::kFixed32) out.sample_rate = field.as_float();
    if (field.number == 2 && field.type == WireType::kVarint) out.channels = field.as_int64();
    if (field.number == 3 && field.type == WireType::kVarint) out.frames = field.as_int64();
    if (field.number == 4 && field.type == WireType::kBytes) out.encoded = field.bytes;
    if (field.number == 5 && field.type == WireType::kBytes) out.content_type = field.as_text();
  }
  if (reader.malformed()) return malformed_event("audio clip");
  return out;
}

}  // namespace headrace
