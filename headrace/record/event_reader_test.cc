#include "headrace/record/event_reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "headrace/record/event.h"
#include "headrace/record/event_scalar.h"
#include "headrace/record/event_wire.h"

namespace headrace {
namespace {

// The record that an encoder framed; it must be the only one.
Bytes record_of(const Bytes& file) {
  RecordScanner scanner(file);
  BytesView record;
  EXPECT_EQ(scanner.next(record), ScanOutcome::kRecord);
  EXPECT_EQ(scanner.position(), file.size());
  return {record.begin(), record.end()};
}

Bytes message(const std::function<void(WireWriter&)>& write) {
  Bytes out;
  WireWriter writer(out);
  write(writer);
  return out;
}

Bytes scalar_tensor(std::uint32_t type, const std::function<void(WireWriter&)>& write_elements) {
  return message([&](WireWriter& tensor) {
    tensor.varint(tensor_field::kDtype, type);
    write_shape(tensor, {});
    write_elements(tensor);
  });
}

TEST(EventReader, ReadsWhatTheEncoderWrites) {
  Bytes file;
  EventEncoder encoder;
  const std::vector<ScalarValue> scalars = {{"loss", 0.5F}, {"accuracy", 0.75F}};
  encoder.scalars(file, {12.5, -3}, scalars);
  const Bytes record = record_of(file);
  const Result<EventView> event = parse_event(record);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->wall_time_s, 12.5);
  EXPECT_EQ(event->step, -3);
  EXPECT_EQ(event->kind, EventKind::kSummary);
  SummaryReader values(*event);
  SummaryValue value;
  for (const ScalarValue& expected : scalars) {
    ASSERT_TRUE(values.next(value));
    EXPECT_EQ(value.tag, expected.tag);
    EXPECT_EQ(value.metadata.plugin_name, "scalars");
    EXPECT_EQ(value.metadata.data_class, DataClass::kScalar);
    const Result<TensorProtoView> tensor = parse_tensor(value.content);
    ASSERT_TRUE(tensor);
    EXPECT_EQ(tensor->scalar(), expected.value);
  }
  EXPECT_FALSE(values.next(value));
  EXPECT_TRUE(values.status());
}

TEST(EventReader, TheFirstEventOfAFileNamesItsVersionAndWriter) {
  Bytes file;
  EventEncoder().begin_file(file, 1.5, "headrace 0.1.0");
  const Bytes record = record_of(file);
  const Result<EventView> event = parse_event(record);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, EventKind::kFileVersion);
  EXPECT_EQ(as_text(event->content), "brain.Event:2");
  EXPECT_EQ(event->writer, "headrace 0.1.0");
}

TEST(EventReader, ReadsEveryKindOfEvent) {
  const Bytes graph = message([](WireWriter& event) { event.text(event_field::kGraphDef, "graph"); });
  EXPECT_EQ(parse_event(graph)->kind, EventKind::kGraphDef);
  EXPECT_EQ(as_text(parse_event(graph)->content), "graph");
  const Bytes meta = message([](WireWriter& event) { event.text(event_field::kMetaGraphDef, "meta"); });
  EXPECT_EQ(parse_event(meta)->kind, EventKind::kMetaGraphDef);
  const Bytes session = message([](WireWriter& event) {
    event.message(event_field::kSessionLog, [](WireWriter& log) { log.varint(1, 1); });
  });
  EXPECT_EQ(parse_event(session)->session_status, SessionStatus::kStart);
  const Bytes run = message([](WireWriter& event) {
    event.message(event_field::kTaggedRunMetadata, [](WireWriter& tagged) {
      tagged.text(1, "step 3");
      tagged.text(2, "metadata");
    });
  });
  EXPECT_EQ(parse_event(run)->run_metadata_tag, "step 3");
  EXPECT_EQ(as_text(parse_event(run)->content), "metadata");
  EXPECT_EQ(parse_event({})->kind, EventKind::kNone);
}

TEST(EventReader, ReadsScalarsOfEveryNumberType) {
  const auto value_of = [](const Bytes& tensor) { return parse_tensor(tensor)->scalar(); };
  const auto of_varint = [&](std::uint32_t type, std::uint32_t field, std::uint64_t value) {
    return value_of(scalar_tensor(type, [&](WireWriter& tensor) { tensor.varint(field, value); }));
  };
  const auto of_content = [&](std::uint32_t type, auto value) {
    return value_of(scalar_tensor(type, [&](WireWriter& tensor) {
      tensor.bytes(tensor_field::kContent, std::as_bytes(std::span(&value, 1)));
    }));
  };
  EXPECT_EQ(of_varint(dtype::kInt32, tensor_field::kIntVal, static_cast<std::uint64_t>(-7)), -7);
  EXPECT_EQ(of_varint(dtype::kInt64, tensor_field::kInt64Val, static_cast<std::uint64_t>(-7)), -7);
  EXPECT_EQ(of_varint(dtype::kUint64, tensor_field::kUint64Val, std::uint64_t{1} << 63), 0x1p63);
  EXPECT_EQ(of_varint(dtype::kBool, tensor_field::kBoolVal, 1), 1);
  EXPECT_EQ(of_varint(dtype::kHalf, tensor_field::kHalfVal, 0x3c00), 1);
  EXPECT_EQ(of_varint(dtype::kHalf, tensor_field::kHalfVal, 0x8001), -0x1p-24);
  EXPECT_EQ(of_varint(dtype::kHalf, tensor_field::kHalfVal, 0x7c00), INFINITY);
  EXPECT_EQ(of_varint(dtype::kBfloat16, tensor_field::kHalfVal, 0x3fc0), 1.5);
  EXPECT_EQ(of_content(dtype::kFloat, 2.5F), 2.5);
  EXPECT_EQ(of_content(dtype::kDouble, 1e300), 1e300);
  EXPECT_EQ(of_content(dtype::kInt8, std::int8_t{-5}), -5);
  EXPECT_EQ(of_content(dtype::kUint8, std::uint8_t{250}), 250);
  EXPECT_EQ(of_content(dtype::kInt16, std::int16_t{-300}), -300);
  EXPECT_EQ(of_content(dtype::kUint16, std::uint16_t{65535}), 65535);
  EXPECT_EQ(of_content(dtype::kUint32, std::uint32_t{4294967295U}), 4294967295.0);
  EXPECT_EQ(of_content(dtype::kHalf, std::uint16_t{0xc000}), -2);
  const Bytes unpacked =
      scalar_tensor(dtype::kFloat, [](WireWriter& tensor) { tensor.fixed32(tensor_field::kFloatVal, 4.5F); });
  EXPECT_EQ(value_of(unpacked), 4.5);
  const Bytes empty = scalar_tensor(dtype::kFloat, [](WireWriter&) {});
  EXPECT_EQ(value_of(empty), 0);
  EXPECT_FALSE(value_of(scalar_tensor(dtype::kString, [](WireWriter& tensor) { tensor.text(8, "1"); })));
  EXPECT_FALSE(of_content(dtype::kDouble, 1.0F)) << "too few bytes";
}

TEST(EventReader, OnlyTensorsOfOneElementAreScalars) {
  std::deque<Bytes> messages;  // which the views are of
  const auto elements = [&](std::initializer_list<std::uint64_t> sizes) {
    messages.push_back(message([&](WireWriter& tensor) {
      tensor.varint(tensor_field::kDtype, dtype::kFloat);
      write_shape(tensor, sizes);
      tensor.fixed32(tensor_field::kFloatVal, 1);
    }));
    return *parse_tensor(messages.back());
  };
  EXPECT_TRUE(elements({1, 1}).scalar());
  EXPECT_EQ(elements({1, 1}).rank, 2);
  EXPECT_FALSE(elements({2}).scalar());
  EXPECT_FALSE(elements({0}).scalar());
  EXPECT_FALSE(elements({static_cast<std::uint64_t>(-1)}).scalar());
  EXPECT_EQ(elements({5, 1, 1, 1, 1, 1, 1, 1, 1, 7}).element_count, 35U);
}

TEST(EventReader, RefusesTensorsThatProtobufRefuses) {
  const auto parses = [](std::uint32_t field, std::string_view content) {
    const Bytes tensor = message([&](WireWriter& out) { out.text(field, content); });
    return parse_tensor(tensor).has_value();
  };
  EXPECT_FALSE(parses(tensor_field::kFloatVal, "12345"));
  EXPECT_FALSE(parses(tensor_field::kDoubleVal, "12345"));
  EXPECT_FALSE(parses(tensor_field::kIntVal, "\xff"));
  EXPECT_FALSE(parses(tensor_field::kShape, "\x12\x04\x12\x02\xff\xfe")) << "a name that is not UTF-8";
  EXPECT_FALSE(parses(tensor_field::kShape, "\x12"));
  EXPECT_TRUE(parses(tensor_field::kFloatVal, "1234"));
  const Bytes huge = message([](WireWriter& out) {
    write_shape(out, {std::uint64_t{1} << 40, std::uint64_t{1} << 40});
  });
  EXPECT_FALSE(parse_tensor(huge)) << "more elements than a number can hold";
}

TEST(EventReader, MalformedMessagesAreErrors) {
  for (const std::string_view bytes :
       {"\x09", "\x10", "\x2a\x05", "\x3a\x01\x08", "\x42\x01\x0a", "\x52\x01\x0a"}) {
    EXPECT_FALSE(parse_event(as_bytes(bytes))) << bytes.size();
  }
  const Bytes event = message([](WireWriter& out) { out.text(event_field::kSummary, "\x0a\x02\x0a\x05"); });
  const Result<EventView> parsed = parse_event(event);
  ASSERT_TRUE(parsed);
  SummaryReader values(*parsed);
  SummaryValue value;
  EXPECT_FALSE(values.next(value));
  EXPECT_EQ(values.status().error().code, Code::kDataLoss);
}

TEST(EventScalar, ReadsWhatTheCommonWritersWriteInOneGo) {
  const auto event_with = [](std::string_view value) {
    return message([&](WireWriter& event) {
      event.fixed64(event_field::kWallTime, 2.5);
      event.varint(event_field::kStep, 300);
      event.message(event_field::kSummary, [&](WireWriter& summary) {
        summary.text(kSummaryValue, std::string("\x0a\4loss").append(value));
      });
    });
  };
  using namespace std::string_view_literals;
  for (const std::string_view value : {"\x42\x0a\x08\1\x12\0\x2a\4\0\0\0\x3f"sv,  // EventEncoder
                                       "\x42\x0a\x08\1\x12\0\x22\4\0\0\0\x3f"sv,  // TensorFlow
                                       "\x15\0\0\0\x3f"sv}) {                     // PyTorch
    ScalarEvent scalar;
    const Bytes event = event_with(value);
    ASSERT_TRUE(parse_scalar_event(event, scalar));
    EXPECT_EQ(scalar.wall_time_s, 2.5);
    EXPECT_EQ(scalar.step, 300);
    EXPECT_EQ(scalar.tag, "loss");
    EXPECT_EQ(scalar.value, 0.5F);
    for (std::size_t size = 0; size < event.size(); ++size) {
      EXPECT_FALSE(parse_scalar_event(BytesView(event).first(size), scalar)) << size;
    }
  }
  ScalarEvent scalar;
  for (const std::string_view value :
       {"\x42\x0a\x08\2\x12\0\x2a\4\0\0\0\x3f"sv, ""sv, "\x4a\0"sv, "\x15\0\0\0\x3f\x4a\0"sv}) {
    EXPECT_FALSE(parse_scalar_event(event_with(value), scalar));
  }
}

TEST(EventReader, FieldsOfAnotherTypeOrNumberAreNotRead) {
  const Bytes event = message([](WireWriter& out) {
    out.varint(event_field::kWallTime, 7);
    out.fixed64(event_field::kStep, 7);
    out.varint(event_field::kGraphDef, 7);
    out.varint(event_field::kSourceMetadata, 7);
    out.text(11, "unknown");
  });
  const Result<EventView> parsed = parse_event(event);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->wall_time_s, 0);
  EXPECT_EQ(parsed->step, 0);
  EXPECT_EQ(parsed->kind, EventKind::kNone);
  EXPECT_TRUE(parsed->content.empty());
  EXPECT_EQ(parsed->writer, "");
  const Bytes writers = message([](WireWriter& out) {
    out.message(event_field::kSourceMetadata, [](WireWriter& source) {
      source.text(1, "writer");
      source.text(2, "other");
      source.varint(1, 7);
    });
  });
  EXPECT_EQ(parse_event(writers)->writer, "writer");
  const Bytes log = message([](WireWriter& out) { out.text(event_field::kLogMessage, "log"); });
  EXPECT_EQ(parse_event(log)->kind, EventKind::kLogMessage);
}

TEST(EventReader, ASessionLogTellsItsStatus) {
  const auto status_of = [](const std::function<void(WireWriter&)>& write) {
    const Bytes event = message([&](WireWriter& out) { out.message(event_field::kSessionLog, write); });
    return parse_event(event)->session_status;
  };
  EXPECT_EQ(status_of([](WireWriter& log) { log.varint(1, 3); }), SessionStatus::kCheckpoint);
  EXPECT_EQ(status_of([](WireWriter& log) { log.varint(1, 4); }), SessionStatus::kUnspecified);
  const auto mixed = [](WireWriter& log) {
    log.text(1, "x");
    log.varint(1, 2);
    log.varint(2, 1);
    log.text(3, "message");
  };
  EXPECT_EQ(status_of(mixed), SessionStatus::kStop);
}

TEST(EventReader, RunMetadataHoldATagAndAMessage) {
  const Bytes event = message([](WireWriter& out) {
    out.message(event_field::kTaggedRunMetadata, [](WireWriter& tagged) {
      tagged.text(1, "tag");
      tagged.text(2, "metadata");
      tagged.text(3, "other");
      tagged.varint(1, 1);
      tagged.varint(2, 2);
    });
  });
  EXPECT_EQ(parse_event(event)->run_metadata_tag, "tag");
  EXPECT_EQ(as_text(parse_event(event)->content), "metadata");
}

// The values of a summary's content, read one after the other.
std::vector<SummaryValue> values_of(BytesView summary) {
  EventView event;
  event.kind = EventKind::kSummary;
  event.content = summary;
  SummaryReader reader(event);
  std::vector<SummaryValue> out;
  for (SummaryValue value; reader.next(value);) out.push_back(value);
  EXPECT_TRUE(reader.status());
  return out;
}

TEST(EventReader, ReadsEveryFormOfAValue) {
  const Bytes summary = message([](WireWriter& out) {
    out.message(1, [](WireWriter& value) {
      value.text(value_field::kTag, "simple");
      value.fixed32(value_field::kSimpleValue, 2.5F);
    });
    out.text(2, "no value");
    out.varint(1, 7);
    for (const std::uint32_t field : {4, 5, 6, 8}) {
      out.message(1, [&](WireWriter& value) {
        value.text(value_field::kNodeName, "node");
        value.text(field, "content");
      });
    }
    out.message(1, [](WireWriter& value) {
      value.text(value_field::kTag, "tag");
      value.text(value_field::kNodeName, "node");
      value.varint(value_field::kSimpleValue, 7);
      value.text(3, "unknown");
    });
  });
  const std::vector<SummaryValue> values = values_of(summary);
  ASSERT_EQ(values.size(), 6U);
  EXPECT_EQ(values[0].tag, "simple");
  EXPECT_EQ(values[0].form, ValueForm::kSimpleValue);
  EXPECT_EQ(values[0].simple_value, 2.5F);
  EXPECT_FALSE(values[0].has_metadata);
  const ValueForm forms[] = {ValueForm::kImage, ValueForm::kHistogram, ValueForm::kAudio, ValueForm::kTensor};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(values[i + 1].form, forms[i]);
    EXPECT_EQ(values[i + 1].tag, "node") << "where there is no tag";
    EXPECT_EQ(as_text(values[i + 1].content), "content");
  }
  EXPECT_EQ(values[5].tag, "tag");
  EXPECT_EQ(values[5].form, ValueForm::kNone);
  EXPECT_TRUE(values[5].content.empty());
}

TEST(EventReader, ReadsTheMetadataOfAValue) {
  const auto value_with = [](const std::function<void(WireWriter&)>& metadata) {
    return message([&](WireWriter& out) {
      out.message(1, [&](WireWriter& value) { value.message(value_field::kMetadata, metadata); });
    });
  };
  const Bytes summary = value_with([](WireWriter& metadata) {
    metadata.message(metadata_field::kPluginData, [](WireWriter& data) {
      data.text(1, "plugin");
      data.text(2, "settings");
      data.text(3, "other");
      data.varint(1, 1);
      data.varint(2, 2);
    });
    metadata.text(metadata_field::kDisplayName, "name");
    metadata.text(metadata_field::kDescription, "description");
    metadata.varint(metadata_field::kDataClass, 3);
    metadata.text(metadata_field::kDataClass, "x");
    metadata.varint(metadata_field::kDisplayName, 1);
    metadata.text(5, "other");
  });
  const std::vector<SummaryValue> values = values_of(summary);
  ASSERT_EQ(values.size(), 1U);
  EXPECT_TRUE(values[0].has_metadata);
  EXPECT_EQ(values[0].metadata.plugin_name, "plugin");
  EXPECT_EQ(as_text(values[0].metadata.plugin_content), "settings");
  EXPECT_EQ(values[0].metadata.display_name, "name");
  EXPECT_EQ(values[0].metadata.description, "description");
  EXPECT_EQ(values[0].metadata.data_class, DataClass::kBlobSequence);
  const Bytes newer = value_with([](WireWriter& out) { out.varint(metadata_field::kDataClass, 4); });
  EXPECT_EQ(values_of(newer)[0].metadata.data_class, DataClass::kUnknown);
}

TEST(EventReader, AnErrorSaysWhatIsMalformed) {
  EXPECT_EQ(parse_event(as_bytes("\x09")).error().message, "malformed event");
  EXPECT_EQ(parse_event(as_bytes("\x3a\1\x08")).error().message, "malformed session log of an event");
  EXPECT_EQ(parse_event(as_bytes("\x42\1\x0a")).error().message, "malformed run metadata of an event");
  EXPECT_EQ(parse_event(as_bytes("\x52\1\x0a")).error().code, Code::kDataLoss);
  EXPECT_EQ(parse_histogram(as_bytes("\x09")).error().message, "malformed histogram");
  EXPECT_EQ(parse_image(as_bytes("\x08")).error().message, "malformed image");
  EXPECT_EQ(parse_audio(as_bytes("\x08")).error().message, "malformed audio clip");
  // Two values. Either the second one or the bytes after it are malformed.
  for (const std::string_view summary : {"\x0a\3\x0a\1x\x0a\2\x4a\5", "\x0a\3\x0a\1x\x0a\4\x4a\2\x0a\5",
                                         "\x0a\3\x0a\1x\x0a\6\x4a\4\x0a\2\x0a\5", "\x0a\3\x0a\1x\x0a\5"}) {
    EventView event;
    event.kind = EventKind::kSummary;
    event.content = as_bytes(summary);
    SummaryReader reader(event);
    SummaryValue value;
    EXPECT_TRUE(reader.next(value));
    EXPECT_EQ(value.tag, "x");
    EXPECT_FALSE(reader.next(value));
    EXPECT_FALSE(reader.next(value));
    ASSERT_FALSE(reader.status());
    EXPECT_EQ(reader.status().error().message, "malformed summary of an event");
  }
}

TEST(EventReader, ReadsHistogramsImagesAndClips) {
  const Bytes histogram_message = message([](WireWriter& out) {
    for (const std::uint32_t field : {1, 2, 3, 4, 5, 8}) out.fixed64(field, field);
    out.varint(1, 9);
    out.fixed64(6, 9);
    out.text(6, "12345678");
    out.text(8, "1");
  });
  const Result<HistogramView> histogram = parse_histogram(histogram_message);
  ASSERT_TRUE(histogram);
  EXPECT_EQ(histogram->least, 1);
  EXPECT_EQ(histogram->greatest, 2);
  EXPECT_EQ(histogram->count, 3);
  EXPECT_EQ(histogram->sum, 4);
  EXPECT_EQ(histogram->sum_of_squares, 5);
  for (const std::uint32_t field : {6, 7}) {
    const Bytes uneven = message([&](WireWriter& out) { out.text(field, "123456789"); });
    EXPECT_EQ(parse_histogram(uneven).error().code, Code::kDataLoss);
  }
  const Bytes any = message([](WireWriter& out) {
    for (const std::uint32_t field : {1, 2, 3, 4, 5, 6}) out.varint(field, field);
    for (const std::uint32_t field : {1, 2, 3, 4, 5, 6}) out.text(field, std::to_string(field));
    for (const std::uint32_t field : {1, 2, 3, 4, 5, 6}) out.fixed32(field, static_cast<float>(field) / 2);
  });
  const Result<ImageView> image = parse_image(any);
  ASSERT_TRUE(image);
  EXPECT_EQ(image->height, 1);
  EXPECT_EQ(image->width, 2);
  EXPECT_EQ(as_text(image->encoded), "4");
  const Result<AudioView> audio = parse_audio(any);
  ASSERT_TRUE(audio);
  EXPECT_EQ(audio->sample_rate, 0.5F);
  EXPECT_EQ(audio->channels, 2);
  EXPECT_EQ(audio->frames, 3);
  EXPECT_EQ(as_text(audio->encoded), "4");
  EXPECT_EQ(audio->content_type, "5");
}

TEST(EventReader, ReadsTheFirstElementHoweverItIsStored) {
  const auto value_of = [](std::uint32_t type, const std::function<void(WireWriter&)>& write) {
    return parse_tensor(scalar_tensor(type, write))->scalar();
  };
  const auto of_content = [&](std::uint32_t type, auto value) {
    return value_of(type, [&](WireWriter& tensor) {
      tensor.bytes(tensor_field::kContent, std::as_bytes(std::span(&value, 1)));
    });
  };
  EXPECT_EQ(of_content(dtype::kInt32, std::int32_t{-7}), -7);
  EXPECT_EQ(of_content(dtype::kInt64, std::int64_t{-7}), -7);
  EXPECT_EQ(of_content(dtype::kUint64, std::uint64_t{1} << 63), 0x1p63);
  EXPECT_EQ(of_content(dtype::kBool, std::uint8_t{1}), 1);
  EXPECT_EQ(of_content(dtype::kBfloat16, std::uint16_t{0x3fc0}), 1.5);
  EXPECT_EQ(of_content(dtype::kHalf, std::uint16_t{0x3555}), 0x1.554p-2);
  EXPECT_EQ(of_content(dtype::kHalf, std::uint16_t{0x0400}), 0x1p-14) << "the least that is not subnormal";
  EXPECT_EQ(of_content(dtype::kHalf, std::uint16_t{0x03ff}), 0x1.ff8p-15) << "the greatest that is";
  EXPECT_EQ(of_content(dtype::kHalf, std::uint16_t{0xfc00}), -INFINITY);
  EXPECT_TRUE(std::isnan(*of_content(dtype::kHalf, std::uint16_t{0x7c01})));
  EXPECT_FALSE(of_content(dtype::kHalf, std::uint8_t{1})) << "too few bytes";
  EXPECT_FALSE(of_content(dtype::kInt16, std::uint8_t{1})) << "too few bytes";
  const auto varint = [&](std::uint32_t type, std::uint32_t field, std::uint64_t value) {
    return value_of(type, [&](WireWriter& tensor) { tensor.varint(field, value); });
  };
  EXPECT_EQ(varint(dtype::kUint32, tensor_field::kUint32Val, (std::uint64_t{1} << 32) + 5), 5);
  EXPECT_EQ(varint(dtype::kUint32, tensor_field::kUint32Val, 4294967295U), 4294967295.0);
  EXPECT_EQ(varint(dtype::kBool, tensor_field::kBoolVal, 2), 1);
  EXPECT_EQ(varint(dtype::kBool, tensor_field::kBoolVal, 0), 0);
  EXPECT_EQ(varint(dtype::kUint8, tensor_field::kIntVal, 200), 200);
  EXPECT_EQ(varint(dtype::kInt32, tensor_field::kInt64Val, 7), 0) << "another type's field";
  const auto mixed = [](std::uint32_t field) {
    return [field](WireWriter& tensor) {  // what is empty, or of another wire type, holds no element
      tensor.text(field, "");
      tensor.fixed32(field, 2.5F);
      tensor.fixed64(field, 3.5);
      tensor.varint(field, 7);
      tensor.varint(field, 8);
    };
  };
  EXPECT_EQ(value_of(dtype::kFloat, mixed(tensor_field::kFloatVal)), 2.5);
  EXPECT_EQ(value_of(dtype::kDouble, mixed(tensor_field::kDoubleVal)), 3.5);
  EXPECT_EQ(value_of(dtype::kInt64, mixed(tensor_field::kInt64Val)), 7);
  const std::vector<double> doubles = {4.5, 5.5};
  EXPECT_EQ(value_of(dtype::kDouble,
                     [&](WireWriter& tensor) {
                       tensor.bytes(tensor_field::kDoubleVal, std::as_bytes(std::span(doubles)));
                     }),
            4.5);
  const auto packed = [](WireWriter& tensor) { tensor.text(tensor_field::kInt64Val, "\xac\x02\x01"); };
  EXPECT_EQ(value_of(dtype::kInt64, packed), 300);
}

TEST(EventReader, AShapeOfUnknownSizesHoldsNoElements) {
  std::deque<Bytes> messages;  // which the views are of
  const auto shaped = [&](const std::function<void(WireWriter&)>& write) -> Result<TensorProtoView> {
    messages.push_back(message([&](WireWriter& tensor) { tensor.message(tensor_field::kShape, write); }));
    return parse_tensor(messages.back());
  };
  const auto dimension = [](std::uint64_t size) { return [size](WireWriter& out) { out.varint(1, size); }; };
  const auto minus = [](int size) { return static_cast<std::uint64_t>(-size); };
  EXPECT_EQ(shaped([](WireWriter&) {})->element_count, 1U);
  EXPECT_EQ(shaped([](WireWriter& shape) { shape.varint(3, 0); })->rank, 0);
  const auto unknown = shaped([&](WireWriter& shape) { shape.message(2, dimension(3)), shape.varint(3, 1); });
  EXPECT_EQ(unknown->rank, -1);
  EXPECT_EQ(unknown->element_count, 0U);
  const auto open = shaped(
      [&](WireWriter& shape) { shape.message(2, dimension(3)), shape.message(2, dimension(minus(1))); });
  EXPECT_EQ(open->rank, 2);
  EXPECT_EQ(open->sizes[0], 3);
  EXPECT_EQ(open->sizes[1], -1);
  EXPECT_EQ(open->element_count, 0U);
  const auto negative = shaped([&](WireWriter& shape) { shape.message(2, dimension(minus(2))); });
  ASSERT_FALSE(negative);
  EXPECT_EQ(negative.error().message, "malformed tensor: a dimension of its shape");
  const auto others = shaped([&](WireWriter& shape) {
    shape.text(3, "x");
    shape.varint(2, 7);
    shape.message(4, dimension(9));
    shape.message(2, [](WireWriter& out) {
      out.varint(1, 5);
      out.text(1, "x");
      out.varint(2, 6);
      out.text(2, "\xc3\xa9");
      out.varint(3, 7);
    });
  });
  ASSERT_TRUE(others);
  EXPECT_EQ(others->rank, 1);
  EXPECT_EQ(others->sizes[0], 5);
  const auto sized = [&](std::initializer_list<std::uint64_t> sizes) {
    return shaped([&](WireWriter& shape) {
      for (const std::uint64_t size : sizes) shape.message(2, dimension(size));
    });
  };
  constexpr std::uint64_t kQuarter = std::uint64_t{1} << 62;
  EXPECT_EQ(sized({kQuarter - 1, 2})->element_count, 2 * kQuarter - 2);
  EXPECT_EQ(sized({kQuarter, 1})->element_count, kQuarter);
  EXPECT_EQ(sized({kQuarter, 0, kQuarter})->element_count, 0U);
  const auto large = sized({kQuarter, 2});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().message, "malformed tensor: more elements than fit in memory");
}

TEST(EventReader, SaysWhyATensorIsRefused) {
  const auto refused = [](std::string_view bytes) {
    const auto parsed = parse_tensor(as_bytes(bytes));
    if (parsed) return std::string("it was parsed");
    EXPECT_EQ(parsed.error().code, Code::kDataLoss);
    return parsed.error().message;
  };
  EXPECT_EQ(refused(std::string_view("\x12\0\x12\0", 4)), "malformed tensor: two shapes");
  EXPECT_EQ(refused("\x12\2\x12\5"), "malformed tensor: its shape");
  EXPECT_EQ(refused("\x72\1x"), "malformed tensor: elements that are resources or variants");
  EXPECT_EQ(refused("\x7a\1x"), "malformed tensor: elements that are resources or variants");
  EXPECT_EQ(refused("\x22\5"), "malformed tensor: not a message");
  for (const std::uint32_t field : {5, 9}) {
    EXPECT_EQ(refused(as_text(message([&](WireWriter& out) { out.text(field, "123456"); }))),
              "malformed tensor: its elements");
    EXPECT_EQ(refused(as_text(message([&](WireWriter& out) { out.text(field, "1234"); }))), "it was parsed");
  }
  for (const std::uint32_t field : {6, 12}) {
    EXPECT_EQ(refused(as_text(message([&](WireWriter& out) { out.text(field, "123412341234"); }))),
              "malformed tensor: its elements");
    EXPECT_EQ(refused(as_text(message([&](WireWriter& out) { out.text(field, "12345678"); }))),
              "it was parsed");
  }
  for (const std::uint32_t field : {7, 10, 11, 13, 16, 17}) {
    EXPECT_EQ(refused(as_text(message([&](WireWriter& out) { out.text(field, "\1\xff"); }))),
              "malformed tensor: its elements")
        << field;
  }
  EXPECT_EQ(refused("\x0a\1\xff"), "it was parsed") << "a type of another wire type is unknown";
  EXPECT_EQ(parse_tensor(as_bytes("\x0a\1x"))->dtype, 0U);
  EXPECT_EQ(refused("\x70\1"), "it was parsed") << "so are variants";
  EXPECT_EQ(refused("\x9a\1\1\xff"), "it was parsed") << "and fields that are not known";
}

TEST(EventReader, StringsAreReadInTheirOrder) {
  const Bytes tensor = message([](WireWriter& out) {
    out.text(tensor_field::kStringVal, "one");
    out.varint(tensor_field::kStringVal, 7);
    out.text(tensor_field::kContent, "content");
    out.text(tensor_field::kStringVal, "");
    out.text(tensor_field::kStringVal, "two");
  });
  StringReader strings(*parse_tensor(tensor));
  std::vector<std::string> found;
  for (BytesView element; strings.next(element);) found.push_back(to_string(element));
  EXPECT_EQ(found, (std::vector<std::string>{"one", "", "two"}));
}

TEST(EventScalar, LengthsOfTwoBytesAreLeftToTheReadersOfMessages) {
  using namespace std::string_view_literals;
  const std::string stamp("\x09\0\0\0\0\0\0\4\x40", 9);
  const auto event = [&](std::size_t name) {  // each length in one byte, though it may need two
    const auto byte = [](std::size_t length) { return static_cast<char>(length); };
    const std::string value = "\x0a" + std::string(1, byte(name)) + std::string(name, 'x') + "\x15\1\1\1\1";
    return stamp + "\x2a" + byte(value.size() + 2) + "\x0a" + byte(value.size()) + value;
  };
  ScalarEvent scalar;
  EXPECT_TRUE(parse_scalar_event(as_bytes(event(118)), scalar)) << "127 bytes of summary";
  for (const std::size_t name : {119, 120, 121, 122, 127, 128, 130})
    EXPECT_FALSE(parse_scalar_event(as_bytes(event(name)), scalar)) << name;
}

// Whichever byte is changed, the fast parser reads the same as the readers of messages.
TEST(EventScalar, AgreesWithTheReadersOfMessages) {
  using namespace std::string_view_literals;
  int read = 0;
  for (const std::string_view value : {"\x42\x0a\x08\1\x12\0\x2a\4\0\0\0\x3f"sv, "\x15\0\0\0\x3f"sv}) {
    for (const std::int64_t step : {0, 1, 300}) {
      for (const std::string_view name : {"x"sv, "loss"sv}) {
        const Bytes event = message([&](WireWriter& out) {
          out.fixed64(event_field::kWallTime, 2.5);
          if (step != 0) out.varint(event_field::kStep, static_cast<std::uint64_t>(step));
          out.message(event_field::kSummary, [&](WireWriter& summary) {
            const std::string tag = std::string("\x0a") + static_cast<char>(name.size()) + std::string(name);
            summary.text(kSummaryValue, tag + std::string(value));
          });
        });
        ScalarEvent whole;
        ASSERT_TRUE(parse_scalar_event(event, whole)) << step << name;
        EXPECT_EQ(whole.step, step);
        EXPECT_EQ(whole.tag, name);
        for (std::size_t at = 0; at < event.size(); ++at) {
          for (int byte = 0; byte < 256; ++byte) {
            Bytes changed = event;
            changed[at] = static_cast<std::byte>(byte);
            ScalarEvent scalar;
            if (!parse_scalar_event(changed, scalar)) continue;
            ++read;
            const Result<EventView> parsed = parse_event(changed);
            ASSERT_TRUE(parsed) << at << ' ' << byte;
            SummaryReader values(*parsed);
            SummaryValue first, second;
            ASSERT_TRUE(values.next(first)) << at << ' ' << byte;
            EXPECT_FALSE(values.next(second)) << at << ' ' << byte;
            EXPECT_TRUE(values.status()) << at << ' ' << byte;
            EXPECT_EQ(std::memcmp(&scalar.wall_time_s, &parsed->wall_time_s, sizeof(double)), 0);
            EXPECT_EQ(scalar.step, parsed->step) << at << ' ' << byte;
            EXPECT_EQ(scalar.tag, first.tag) << at << ' ' << byte;
            float expected = first.simple_value;
            if (first.form == ValueForm::kTensor) {
              const auto tensor = parse_tensor(first.content);
              ASSERT_TRUE(tensor && tensor->scalar()) << at << ' ' << byte;
              expected = static_cast<float>(*tensor->scalar());
            }
            EXPECT_TRUE(scalar.value == expected || (std::isnan(scalar.value) && std::isnan(expected)))
                << at << ' ' << byte;
          }
        }
      }
    }
  }
  EXPECT_GT(read, 10'000);
}

}  // namespace
}  // namespace headrace
