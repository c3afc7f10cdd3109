#pragma once

/// \file Reads the events of any writer: docs/formats/event-file.md. Every result views the event's bytes,
/// which must outlive it; nothing is allocated or copied. Any bytes give a value or an error with code
/// kDataLoss, in time proportional to their number. event_stream.h takes whole events out of a file;
/// event_migration.h converts older forms to the current one.
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

/// How the values of a tag are to be read. Any other number, which a future writer may use, is read as
/// kUnknown.
enum class DataClass : std::uint8_t { kUnknown = 0, kScalar = 1, kTensor = 2, kBlobSequence = 3 };

/// TensorFlow's numbers of element types (types.proto). Other numbers occur in files.
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
  /// Depends on the kind: the text of the version, the serialized GraphDef or MetaGraphDef, the serialized
  /// RunMetadata of kTaggedRunMetadata, or the message of any other kind.
  BytesView content{};
  std::string_view writer{};                                   // from source_metadata
  std::string_view run_metadata_tag{};                         // for kTaggedRunMetadata
  SessionStatus session_status = SessionStatus::kUnspecified;  // for kSessionLog
};

/// \error kDataLoss  malformed
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
  /// The message of a form other than kSimpleValue, for the functions below.
  BytesView content{};
};

/// Walks the values of an event. Only an event of kind kSummary has any.
class SummaryReader {
 public:
  explicit SummaryReader(const EventView& event)
      : fields_(event.kind == EventKind::kSummary ? event.content : BytesView{}) {}

  /// Returns false at the end, and at a malformed value; `status` is then an error of code kDataLoss.
  bool next(SummaryValue& value);
  Status status() const;

 private:
  WireReader fields_;
  bool malformed_ = false;
};

/// A tensor's type, its shape, and the bytes of its elements.
struct TensorProtoView {
  static constexpr std::size_t kMaxSizes = 8;

  std::uint32_t dtype = 0;
  /// The number of dimensions; −1 if unknown.
  int rank = 0;
  /// The sizes of the first `kMaxSizes` dimensions; −1 if unknown.
  std::array<std::int64_t, kMaxSizes> sizes{};
  /// The product of all sizes; 0 if the rank or a size is unknown.
  std::uint64_t element_count = 0;
  /// The field tensor_content: elements of fixed width, little-endian. Empty if the elements are in other
  /// fields.
  BytesView content{};
  /// The whole TensorProto.
  BytesView message{};

  /// The only element as a number, whichever field holds it, for the types float, double, half, bfloat16,
  /// bool and every integer. None for other types, and unless the tensor has exactly one element.
  std::optional<double> scalar() const;
};

/// Accepts a TensorProto that protobuf accepts, so that others can parse `message` too. Refuses tensors of
/// resources and variants, sizes below −1, and names of dimensions that are not UTF-8.
/// \error kDataLoss  malformed, or refused as above
Result<TensorProtoView> parse_tensor(BytesView tensor);

/// Walks the elements of a tensor of strings that are stored: there may be fewer or more than
/// `element_count`.
class StringReader {
 public:
  explicit StringReader(const TensorProtoView& tensor) : fields_(tensor.message) {}
  bool next(BytesView& element);

 private:
  WireReader fields_;
};

/// A histogram of TensorFlow 1: bucket i ends at edge i, where bucket i + 1 begins.
struct HistogramView {
  double least = 0;
  double greatest = 0;
  double count = 0;
  double sum = 0;
  double sum_of_squares = 0;
  /// The message that holds the edges and the counts; `for_each_double` walks them.
  BytesView message{};
};
Result<HistogramView> parse_histogram(BytesView histogram);

/// Calls visit(double) for each element of field `number`, packed or not: kHistogramEdges (the upper edges)
/// or kHistogramCounts. REQUIRES: `histogram` comes from `parse_histogram`.
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

/// An image or audio clip of TensorFlow 1.
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
