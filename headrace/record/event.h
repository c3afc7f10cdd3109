#pragma once

/// \file Writes event files, which TensorBoard shows: docs/formats/event-file.md. Makes bytes to append to a
/// file whose name contains "tfevents". The caller gives the wall time (seconds since 1970, UTC) and the
/// step. Texts must be UTF-8, because TensorBoard refuses others. Reading: event_reader.h.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <variant>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

struct EventStamp {
  double wall_time_s = 0;
  std::int64_t step = 0;
};

/// The texts that people read beside a series. They are written with the first value of a tag in a file, and
/// ignored with later values.
struct SeriesLabel {
  std::string_view display_name{};  // empty: the tag
  std::string_view description{};   // Markdown
};

struct ScalarValue {
  std::string_view tag;
  float value = 0;
};

/// Counts the values with left ≤ x < right. The last bucket of a histogram includes its right edge.
struct HistogramBucket {
  double left = 0;
  double right = 0;
  double count = 0;
};

inline constexpr int kDefaultHistogramBuckets = 30;
/// The name of the plugin under which tables are written and found.
inline constexpr std::string_view kTablePlugin = "headrace_table";

/// Counts values in buckets that divide their range into equal parts, as TensorBoard's own summaries do. If
/// all values are equal, so are all edges, and the last bucket counts all values. Ignores values that are not
/// finite. Without finite values there are no buckets. A `bucket_count` below 1 counts as 1.
std::vector<HistogramBucket> make_histogram(std::span<const float> values,
                                            int bucket_count = kDefaultHistogramBuckets);
std::vector<HistogramBucket> make_histogram(std::span<const double> values,
                                            int bucket_count = kDefaultHistogramBuckets);

/// Images of one size in pixels, each an encoded PNG, JPEG or GIF.
struct ImageList {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::span<const BytesView> encoded{};
};

/// TensorBoard knows these three types. Integers are written as doubles, exact up to 2^53.
using HyperparameterValue = std::variant<bool, double, std::string_view>;

struct Hyperparameter {
  std::string_view name;
  HyperparameterValue value;
};

/// The values that a hyperparameter may have: `values`, which must all have one type; or, if `values` is
/// empty, the numbers from `least` to `greatest`.
struct HyperparameterDomain {
  std::string_view name;
  std::span<const HyperparameterValue> values{};
  double least = 0;
  double greatest = 0;
  SeriesLabel label{};
};

/// A scalar by which trials are compared: its tag, and the run that holds it, relative to the trial's run
/// (empty: the trial's run itself).
struct MetricName {
  std::string_view tag;
  std::string_view group{};
  SeriesLabel label{};
};

struct ExperimentDescription {
  std::span<const HyperparameterDomain> hyperparameters{};
  std::span<const MetricName> metrics{};
  std::string_view name{};
  std::string_view description{};
};

enum class TrialStatus : std::uint8_t { kUnknown = 0, kSuccess = 1, kFailure = 2, kRunning = 3 };

/// Appends framed events to a buffer. Call `begin_file` at the beginning of every file, or segment of a file:
/// a reader must find the version first, and the kind of a tag with the tag's first value. Allocates only
/// room in the buffer and, for the first value of a tag, a copy of its name. A scalar costs about 0.2 µs. Not
/// thread-safe.
class EventEncoder {
 public:
  /// Appends the version event. Forgets the tags of the file before.
  /// \param writer  names the program, as in "headrace 0.1.0"; empty: not named
  void begin_file(Bytes& out, double wall_time_s, std::string_view writer);

  /// Appends one event with all the values.
  void scalars(Bytes& out, const EventStamp& stamp, std::span<const ScalarValue> values);
  void scalar(Bytes& out, const EventStamp& stamp, std::string_view tag, float value,
              const SeriesLabel& label = {});
  void histogram(Bytes& out, const EventStamp& stamp, std::string_view tag,
                 std::span<const HistogramBucket> buckets, const SeriesLabel& label = {});
  /// `text` is Markdown.
  void text(Bytes& out, const EventStamp& stamp, std::string_view tag, std::string_view text,
            const SeriesLabel& label = {});
  /// Writes the images' bytes unchanged.
  void images(Bytes& out, const EventStamp& stamp, std::string_view tag, const ImageList& images,
              const SeriesLabel& label = {});
  /// Each clip is a whole WAV file, whose bytes are written unchanged.
  void audio(Bytes& out, const EventStamp& stamp, std::string_view tag, std::span<const BytesView> clips,
             const SeriesLabel& label = {});
  /// `json` is a table in the form of docs/formats/event-file.md, "Tables". TensorBoard does not show tables.
  void table(Bytes& out, const EventStamp& stamp, std::string_view tag, std::string_view json,
             const SeriesLabel& label = {});
  /// `graph_def` is a serialized tensorflow.GraphDef. TensorBoard shows one graph per file.
  void graph(Bytes& out, const EventStamp& stamp, BytesView graph_def);

  /// Describes what an experiment's trials have in common. Belongs into a file of its own, in a folder above
  /// those of the trials.
  void experiment(Bytes& out, double wall_time_s, const ExperimentDescription& experiment);
  /// Makes the run a trial with these hyperparameters. TensorBoard shows trials with the same `trial` name as
  /// one trial, with the mean of their metrics. To show each run by itself, pass the run's name.
  void trial_start(Bytes& out, double wall_time_s, std::string_view trial,
                   std::span<const Hyperparameter> hyperparameters);
  void trial_end(Bytes& out, double wall_time_s, TrialStatus status);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  bool is_first(std::string_view tag);

  std::unordered_set<std::string, Hash, std::equal_to<>> tags_;
};

}  // namespace headrace
