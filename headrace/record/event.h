#pragma once

/// \file Event files, which TensorBoard shows: docs/formats/event-file.md. Bytes to append to a file whose
/// name contains "tfevents"; wall time (seconds since 1970, UTC) and step come from the caller.

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

struct EventStamp {
  double wall_time_s = 0;
  std::int64_t step = 0;
};

struct ScalarValue {
  std::string_view tag;
  float value = 0;
};

/// left ≤ x < right, the last one with its right edge.
struct HistogramBucket {
  double left = 0;
  double right = 0;
  double count = 0;
};

inline constexpr int kDefaultHistogramBuckets = 30;

/// Equal parts of the range of `values`, as TensorBoard's own summaries cut it: where all values are equal,
/// the edges are too, and the last bucket holds all. Values that are not finite are left out; no values, no
/// buckets. \param bucket_count  at least 1
std::vector<HistogramBucket> make_histogram(std::span<const float> values,
                                            int bucket_count = kDefaultHistogramBuckets);

/// Appends framed events to a buffer. Begin every file, or segment of one, with `begin_file`: a reader must
/// find the version first, and what kind of summary a tag is with the first summary of that tag. One thread
/// at a time.
class EventEncoder {
 public:
  /// \param writer  names the program, as in "headrace 0.1.0"; empty: not named
  void begin_file(Bytes& out, double wall_time_s, std::string_view writer);

  /// One event with all the values.
  void scalars(Bytes& out, const EventStamp& stamp, std::span<const ScalarValue> values);
  void scalar(Bytes& out, const EventStamp& stamp, std::string_view tag, float value);
  void histogram(Bytes& out, const EventStamp& stamp, std::string_view tag,
                 std::span<const HistogramBucket> buckets);
  /// `text` is Markdown, in UTF-8.
  void text(Bytes& out, const EventStamp& stamp, std::string_view tag, std::string_view text);
  /// A serialized tensorflow.GraphDef; shown once a file.
  void graph(Bytes& out, const EventStamp& stamp, BytesView graph_def);

 private:
  bool is_first(std::string_view tag);

  std::set<std::string, std::less<>> tags_;
};

}  // namespace headrace
