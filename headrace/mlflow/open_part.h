#pragma once

/// \file The part of a run that this process writes: its record and its metrics.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "headrace/metrics/metric_writer.h"
#include "headrace/mlflow/log_batch.h"
#include "headrace/mlflow/recent_points.h"
#include "headrace/mlflow/records.h"
#include "headrace/track/mlflow_run.h"
#include "headrace/track/recorder.h"

namespace headrace::mlflow {

/// Everything that parts have in common. It must outlive them.
struct PartSurroundings {
  StoreRegistry& stores;
  std::string root_url;  // the tracking root
  std::string journals;  // folder on this machine for the journals
  std::vector<std::string> command_line;
  std::string version;  // of Headrace
  std::function<std::chrono::system_clock::time_point()> now;
  Background& background;
};

/// The metrics that other parts of the run have logged, for a part that continues the run; null: none.
using EarlierMetrics = MetricsPointer;

/// The points of earlier parts, by metric.
using EarlierPoints = std::map<std::string, MetricSeries>;

/// A part of a run that takes points until it is sealed. Thread-safe.
class OpenPart {
 public:
  /// Creates a part and its record. Waits for the store.
  /// \param run_id   the run to continue; empty: a new run
  /// \param earlier  points that a client may send again, because the process that logged them was killed
  /// \error of the store, and of the disk for the journal
  static Result<std::shared_ptr<OpenPart>> start(const PartSurroundings& surroundings,
                                                 const std::string& run_id,
                                                 std::map<std::string, std::string> parameters,
                                                 EarlierMetrics earlier, const CallOptions& call);

  const std::string& run() const { return recorder_.run_id(); }
  const std::string& part() const { return recorder_.part(); }

  /// Whether `log` can take these points without the result of `read_earlier`.
  bool knows_metrics_of(std::span<const LoggedPoint> points) const;
  /// Reads the last points of earlier parts, for those metrics of `points` that are new in this part. Waits
  /// for the store.
  Result<EarlierPoints> read_earlier(std::span<const LoggedPoint> points) const;
  /// Logs points. When it returns true, all points are in the journal, and a kill of this process loses none.
  /// Points that are already among the last ones of the run are not logged again. Returns false if the part
  /// was sealed and took no point; it may be unsealed by now. Never waits for the store.
  /// \param earlier  from read_earlier for the same points; not needed if knows_metrics_of(points)
  /// \error kResourceExhausted  or another error of the disk: some of the points may be logged
  Result<bool> log(std::span<const LoggedPoint> points, const EarlierPoints& earlier = {});
  /// Whether the part takes no points because its run is being ended; another part must take them. Each
  /// `seal` needs an `unseal`; several threads may seal the part at once. After `finish` it stays sealed.
  bool is_sealed() const;
  void seal();
  void unseal();
  /// Whether `finish` has succeeded.
  bool is_finished() const;
  /// Writes all points so far to the store, so that readers see them.
  Status publish();
  /// The last point of each metric in this part.
  LastPoints last_points() const;
  /// Records that the run has artifacts in this folder, unless that is already recorded.
  Status add_artifacts(const Location& folder);
  /// Seals the part, and writes the remaining points and the end of the part's record. An `outcome` of
  /// kCancelled means stopped. May be repeated after an error; after success, further calls do nothing.
  Status finish(const Status& outcome, const std::map<std::string, std::string>& parameters);

 private:
  struct Metric {
    std::uint32_t number = 0;  // of the metric in the writer
    LastPoint last{};
    bool has_points = false;
  };

  OpenPart(RunRecorder recorder, std::map<std::string, std::string> parameters, EarlierMetrics earlier)
      : recorder_(std::move(recorder)),
        start_parameters_(std::move(parameters)),
        earlier_(std::move(earlier)) {}
  Result<Metric*> metric_of(std::string_view key);
  Status remember(const EarlierPoints& earlier);
  Status write(std::span<const LoggedPoint> points);

  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::mutex recording_;  // guards the recorder; locked before logging_
  RunRecorder recorder_;
  bool has_artifacts_ = false;
  const std::map<std::string, std::string> start_parameters_;
  const EarlierMetrics earlier_;
  std::shared_ptr<MetricWriter> writer_;

  mutable std::mutex logging_;  // guards what follows
  std::unordered_map<std::string, Metric, TextHash, std::equal_to<>> metrics_;
  RecentPoints recent_;
  std::vector<Metric*> touched_;  // the metric of each point of a batch
  std::vector<MetricWriter::Value> row_;
  bool is_published_ = true;
  int seals_ = 0;
  bool is_finished_ = false;
};

/// Keeps a part sealed as long as this lives: all points acknowledged so far are then in last_points().
class PartSeal {
 public:
  explicit PartSeal(std::shared_ptr<OpenPart> part) : part_(std::move(part)) { part_->seal(); }
  ~PartSeal() {
    if (part_ != nullptr) part_->unseal();
  }
  PartSeal(const PartSeal&) = delete;
  PartSeal& operator=(const PartSeal&) = delete;
  /// Leaves the part sealed for good: its last points are in the run's state.
  void keep() { part_ = nullptr; }

 private:
  std::shared_ptr<OpenPart> part_;
};

}  // namespace headrace::mlflow
