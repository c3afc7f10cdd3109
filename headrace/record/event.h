#pragma once

/// \file Event files, which TensorBoard shows: docs/formats/event-file.md. Bytes to append to a file whose
/// name contains "tfevents"; wall time (seconds since 1970, UTC) and step come from the caller. Texts are
/// UTF-8: TensorBoard refuses others. Reading: event_reader.h.

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

/// The texts that people read beside a series; taken from the first value of a tag in a file.
struct SeriesLabel {
  std::string_view display_name{};  // empty: the tag
  std::string_view description{};   // Markdown
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
/// The name by which tables are found.
inline constexpr std::string_view kTablePlugin = "headrace_table";

/// Equal parts of the range of `values`, as TensorBoard's own summaries cut it: where all values are equal,
/// the edges are too, and the last bucket holds all. Values that are not finite are left out; no values, no
/// buckets. \param bucket_count  at least 1
std::vector<HistogramBucket> make_histogram(std::span<const float> values,
                                            int bucket_count = kDefaultHistogramBuckets);
std::vector<HistogramBucket> make_histogram(std::span<const double> values,
                                            int bucket_count = kDefaultHistogramBuckets);

/// Images of one size, each an encoded PNG, JPEG or GIF.
struct ImageList {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::span<const BytesView> encoded{};
};

/// TensorBoard knows three types; integers are numbers, exact up to 2^53.
using HyperparameterValue = std::variant<bool, double, std::string_view>;

struct Hyperparameter {
  std::string_view name;
  HyperparameterValue value;
};

/// The values that a hyperparameter may have: `values`, all of one type; or, if that is empty, the numbers
/// from `least` to `greatest`.
struct HyperparameterDomain {
  std::string_view name;
  std::span<const HyperparameterValue> values{};
  double least = 0;
  double greatest = 0;
  SeriesLabel label{};
};

/// A scalar that trials are compared by: its tag, and below a trial's run the run that holds it ("": itself).
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

/// Appends framed events to a buffer. Begin every file, or segment of one, with `begin_file`: a reader must
/// find the version first, and what kind of summary a tag is with the first summary of that tag. One thread
/// at a time. Nothing is allocated for an event but room in the buffer, and for the first value of a tag its
/// name: a scalar costs about 0.2 µs.
class EventEncoder {
 public:
  /// \param writer  names the program, as in "headrace 0.1.0"; empty: not named
  void begin_file(Bytes& out, double wall_time_s, std::string_view writer);

  /// One event with all the values.
  void scalars(Bytes& out, const EventStamp& stamp, std::span<const ScalarValue> values);
  void scalar(Bytes& out, const EventStamp& stamp, std::string_view tag, float value,
              const SeriesLabel& label = {});
  void histogram(Bytes& out, const EventStamp& stamp, std::string_view tag,
                 std::span<const HistogramBucket> buckets, const SeriesLabel& label = {});
  /// `text` is Markdown.
  void text(Bytes& out, const EventStamp& stamp, std::string_view tag, std::string_view text,
            const SeriesLabel& label = {});
  /// The bytes are written as they are.
  void images(Bytes& out, const EventStamp& stamp, std::string_view tag, const ImageList& images,
              const SeriesLabel& label = {});
  /// Each a whole WAV file; written as they are.
  void audio(Bytes& out, const EventStamp& stamp, std::string_view tag, std::span<const BytesView> clips,
             const SeriesLabel& label = {});
  /// `json`: a table as docs/formats/event-file.md has it, "Tables". TensorBoard shows none.
  void table(Bytes& out, const EventStamp& stamp, std::string_view tag, std::string_view json,
             const SeriesLabel& label = {});
  /// A serialized tensorflow.GraphDef; shown once a file.
  void graph(Bytes& out, const EventStamp& stamp, BytesView graph_def);

  /// Describes the common part of an experiment's trials; in a file of its own above those of the trials.
  void experiment(Bytes& out, double wall_time_s, const ExperimentDescription& experiment);
  /// Makes the run a trial with these hyperparameters. Trials of one `trial` name are shown as one, with the
  /// mean of their metrics: use the run's name where each stands for itself.
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
