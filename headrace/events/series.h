#pragma once

/// \file The values of one tag in one run, from all its logs. Not thread-safe: the run guards it.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/events/samples.h"
#include "headrace/record/event_migration.h"

namespace headrace {

/// Identifies one log among all logs that were ever followed.
using LogId = std::uint32_t;
/// The time when each log of a run began: the wall time of its first event, in seconds since 1970.
using LogTimes = std::map<LogId, double>;

/// Where a blob lies: in an object, or in `literal` if it is in no file.
struct BlobReference {
  std::uint64_t offset_bytes = 0;
  std::uint64_t length_bytes = 0;
  std::uint32_t crc32c = 0;
  std::string literal{};
};

struct BlobSequence {
  static constexpr std::size_t kMaxBlobs = 100;
  std::shared_ptr<const std::string> object_key;
  std::vector<BlobReference> blobs;
};

/// Points in the order of their steps. Borrowed: see Series::scalars.
struct ScalarView {
  std::span<const std::int64_t> steps;
  std::span<const double> wall_times_s;
  std::span<const double> values;
};

struct SeriesExtent {
  std::int64_t max_step = 0;
  double max_wall_time_s = 0;
  std::int64_t max_length = 0;  // of a blob sequence
};

class Series {
 public:
  Series(SeriesKind kind, const MetadataView& metadata);

  const SeriesKind kind;
  const std::string plugin_name;
  const std::string plugin_content;
  const std::string display_name;
  const std::string description;

  void add_scalar(LogId log, std::int64_t step, double wall_time_s, double value);
  void add_tensor(LogId log, std::int64_t step, double wall_time_s, BytesView tensor);
  void add_blobs(LogId log, std::int64_t step, double wall_time_s, BlobSequence blobs);
  /// Forgets the points of that log. Returns true if no points are left.
  bool drop_log(LogId log);
  /// Forgets the scalars of that log at that step or later. Returns true if no points are left.
  bool cut_log(LogId log, std::int64_t step);

  // The points to show: several logs are merged by step, and points that a later log repeats are left out
  // (docs/tensorboard.md, "Steps that go back"). Pointers are valid until the series changes.
  /// \param scratch  holds the points if there are several logs. The view is valid as long as `scratch` and
  ///                 the series are alive and unchanged
  ScalarView scalars(const LogTimes& begun, ScalarColumns& scratch) const;
  std::vector<const Sample<Bytes>*> tensors(const LogTimes& begun) const;
  std::vector<const Sample<BlobSequence>*> blobs(const LogTimes& begun) const;
  SeriesExtent extent(const LogTimes& begun) const;
  /// The number of scalars that are kept, including hidden ones.
  std::size_t scalar_points() const;

 private:
  template <typename Samples>
  struct Part {
    LogId log;
    Samples samples;
  };
  template <typename Samples>
  static Samples& part_of(std::vector<Part<Samples>>& parts, LogId log);

  std::vector<Part<ScalarColumns>> scalars_;
  std::vector<Part<SampleList<Bytes>>> tensors_;
  std::vector<Part<SampleList<BlobSequence>>> blobs_;
};

}  // namespace headrace
