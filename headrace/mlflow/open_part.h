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

/// Everything that parts have in common. Borrowed; outlives them.
struct PartSurroundings {
  StoreRegistry& stores;
  std::string root_url;  // the tracking root
  std::string journals;  // folder of this machine for the journals
  std::vector<std::string> command_line;
  std::string version;  // of Headrace
  std::function<std::chrono::system_clock::time_point()> now;
  Background& background;
};

/// The metrics of a run that other parts have logged, for a part that goes on with it; null: there are none.
using EarlierMetrics = MetricsPointer;

/// By metric.
using EarlierPoints = std::map<std::string, MetricSeries>;

/// Thread-safe.
class OpenPart {
 public:
  /// Creates the part's record. `run_id`: empty for a new run. `earlier`: points that a client may repeat,
  /// since a process was killed which had logged them.
  static Result<std::shared_ptr<OpenPart>> start(const PartSurroundings& surroundings,
                                                 const std::string& run_id,
                                                 std::map<std::string, std::string> parameters,
                                                 EarlierMetrics earlier, const CallOptions& call);

  const std::string& run() const { return recorder_.run_id(); }
  const std::string& part() const { return recorder_.part(); }

  /// Whether `log` takes these points without what `read_earlier` returns.
  bool knows_metrics_of(std::span<const LoggedPoint> points) const;
  /// The last points that earlier parts have logged of metrics that are new here. Waits for the store.
  Result<EarlierPoints> read_earlier(std::span<const LoggedPoint> points) const;
  /// When it returns success, all points are in the journal: a kill of this process loses none. Points that
  /// are among the last ones of the run already are not logged again. Never waits for the store. `earlier`:
  /// of the same points, unless their metrics are known. False: the part was sealed, and took none of them;
  /// it may be unsealed by now.
  /// \error of the disk: none or some of the points are there
  Result<bool> log(std::span<const LoggedPoint> points, const EarlierPoints& earlier = {});
  /// Whether it takes no points, since its run is being ended: another part has to. `seal` and `unseal` come
  /// in pairs, of several threads at once; after `finish` it stays sealed.
  bool is_sealed() const;
  void seal();
  void unseal();
  /// Whether `finish` has succeeded.
  bool is_finished() const;
  /// All points so far are in the store, for readers.
  Status publish();
  LastPoints last_points() const;
  /// Records that the run has artifacts at that place, unless it is recorded already.
  Status add_artifacts(const Location& folder);
  /// Seals the part, and writes the rest of the points and the end of the part's record. `outcome`:
  /// kCancelled: stopped. May be repeated after an error; once it has succeeded, calls do nothing.
  Status finish(const Status& outcome, const std::map<std::string, std::string>& parameters);

 private:
  struct Metric {
    std::uint32_t number = 0;  // of the writer
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
  std::vector<Metric*> touched_;  // by the points of a batch
  std::vector<MetricWriter::Value> row_;
  bool is_published_ = true;
  int seals_ = 0;
  bool is_finished_ = false;
};

/// A part that takes no points for so long: what was acknowledged before is among its last points.
class PartSeal {
 public:
  explicit PartSeal(std::shared_ptr<OpenPart> part) : part_(std::move(part)) { part_->seal(); }
  ~PartSeal() {
    if (part_ != nullptr) part_->unseal();
  }
  PartSeal(const PartSeal&) = delete;
  PartSeal& operator=(const PartSeal&) = delete;
  /// The part takes none any more: its last points are in the run's state.
  void keep() { part_ = nullptr; }

 private:
  std::shared_ptr<OpenPart> part_;
};

}  // namespace headrace::mlflow
