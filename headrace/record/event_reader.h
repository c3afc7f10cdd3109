#pragma once

/// \file Reads events of any writer: docs/formats/event-file.md. Everything is a view of the event's bytes,
/// which must outlive it; nothing is allocated or copied. Any bytes give a value or an error of code
/// kDataLoss, in time proportional to their number. How whole events come out of a file: event_stream.h; how
/// older forms become today's: event_migration.h.
///
///   HEADRACE_TRY(const EventView event, parse_event(record));
///   SummaryReader values(event);
///   for (SummaryValue value; values.next(value);) use(event.step, value);
///   HEADRACE_CHECK(values.status());

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/base/wire.h"

namespace headrace {

/// How the values of a tag are to be read. Numbers outside of these occur in files of a future writer.
enum class DataClass : std::uint8_t { kUnknown = 0, kScalar = 1, kTensor = 2, kBlobSequence = 3 };

/// TensorFlow's numbers of element types (types.proto); others occur.
namespace dtype {
inline constexpr std::uint32_t kFloat = 1, kDouble = 2, kInt32 = 3, kUint8 = 4, kInt16 = 5, kInt8 = 6,
                               kString = 7, kInt64 = 9, kBool = 10, kBfloat16 = 14, kUint16 = 17, kHalf = 19,
                               kResource = 20, kVariant = 21, kUint32 = 22, kUint64 = 23;
}

enum class EventKind : std::uint8_t {
  kNone,  // a stamp only
  kFileVersion,
  kGraphDef,
  kSummary,
  kLogMessage,
  kSessionLog,
  kTaggedRunMetadata,
  kMetaGraphDef,
};

enum class SessionStatus : std::uint8_t { kUnspecified = 0, kStart = 1, kStop = 2, kCheckpoint = 3 };

struct EventView {
  double wall_time_s = 0;
  std::int64_t step = 0;
  EventKind kind = EventKind::kNone;
  /// The text of a version, the serialized GraphDef or MetaGraphDef, the message of every other kind; for
  /// kTaggedRunMetadata the serialized RunMetadata.
  BytesView content{};
  std::string_view writer{};                                   // of source_metadata
  std::string_view run_metadata_tag{};                         // of kTaggedRunMetadata
  SessionStatus session_status = SessionStatus::kUnspecified;  // of kSessionLog
};

Result<EventView> parse_event(BytesView event);

struct MetadataView {
  std::string_view plugin_name{};
  BytesView plugin_content{};
  std::string_view display_name{};
  std::string_view description{};
  DataClass data_class = DataClass::kUnknown;
};

enum class ValueForm : std::uint8_t { kNone, kSimpleValue, kTensor, kHistogram, kImage, kAudio };

struct SummaryValue {
  std::string_view tag{};
  bool has_metadata = false;
  MetadataView metadata{};
  ValueForm form = ValueForm::kNone;
  float simple_value = 0;
  /// The message of the other forms, for the functions below.
  BytesView content{};
};

/// Walks the values of an event; there are none in an event of another kind than kSummary.
class SummaryReader {
 public:
  explicit SummaryReader(const EventView& event)
      : fields_(event.kind == EventKind::kSummary ? event.content : BytesView{}) {}

  /// False at the end, and where a value is malformed: then `status` says so.
  bool next(SummaryValue& value);
  Status status() const;

 private:
  WireReader fields_;
  bool malformed_ = false;
};

/// A tensor's type and shape, and where its elements lie.
struct TensorProtoView {
  static constexpr std::size_t kMaxSizes = 8;

  std::uint32_t dtype = 0;
  /// −1: unknown.
  int rank = 0;
  /// The sizes of the first dimensions.
  std::array<std::int64_t, kMaxSizes> sizes{};
  /// The product of all sizes; 0 where the rank or a size is not known.
  std::uint64_t element_count = 0;
  /// tensor_content: elements of fixed width, little-endian.
  BytesView content{};
  /// The whole TensorProto.
  BytesView message{};

  /// The first element as a number, whatever field it stands in: of the types float, double, half, bfloat16,
  /// bool and every integer. None for other types, and for a tensor of no elements or of several.
  std::optional<double> scalar() const;
};

/// Accepts what protobuf accepts of a TensorProto, but no tensors of resources and variants, no size below −1
/// and no name of a dimension that is not UTF-8: so whoever is given `message` can parse it, too.
Result<TensorProtoView> parse_tensor(BytesView tensor);

/// Walks the elements of a tensor of strings, as far as they are written down.
class StringReader {
 public:
  explicit StringReader(const TensorProtoView& tensor) : fields_(tensor.message) {}
  bool next(BytesView& element);

 private:
  WireReader fields_;
};

/// A histogram of TensorFlow 1: bucket i ends at limit(i), where bucket i + 1 begins.
struct HistogramView {
  double least = 0;
  double greatest = 0;
  double count = 0;
  double sum = 0;
  double sum_of_squares = 0;
  /// Both as the message that holds them: `for_each_double` walks them.
  BytesView message{};
};
Result<HistogramView> parse_histogram(BytesView histogram);

/// Calls visit(double) for each element of field `number` (6: upper edges, 7: counts), packed or not.
/// REQUIRES: from parse_histogram
template <typename Visit>
void for_each_double(const HistogramView& histogram, std::uint32_t number, Visit&& visit) {
  WireReader reader(histogram.message);
  for (WireField field; reader.next(field);) {
    if (field.number != number) continue;
    if (field.type == WireType::kFixed64) visit(field.as_double());
    if (field.type != WireType::kBytes) continue;
    for (std::size_t at = 0; at + sizeof(double) <= field.bytes.size(); at += sizeof(double)) {
      visit(load_little_endian<double>(field.bytes.data() + at));
    }
  }
}
inline constexpr std::uint32_t kHistogramEdges = 6, kHistogramCounts = 7;

/// An image or clip of TensorFlow 1.
struct ImageView {
  std::int64_t width = 0;
  std::int64_t height = 0;
  BytesView encoded{};
};
struct AudioView {
  float sample_rate = 0;
  std::int64_t channels = 0;
  std::int64_t frames = 0;
  BytesView encoded{};
  std::string_view content_type{};
};
Result<ImageView> parse_image(BytesView image);
Result<AudioView> parse_audio(BytesView audio);

}  // namespace headrace
