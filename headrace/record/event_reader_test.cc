#include "headrace/record/event_reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
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

}  // namespace
}  // namespace headrace
