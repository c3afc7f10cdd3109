#pragma once

/// \file Writes the record of a run. In a stage:
///
///   HEADRACE_TRY(RunRecorder recorder, RunRecorder::start(registry, output, std::move(run_start), options));
///   HEADRACE_CHECK(recorder.add_input(data));
///   RunEnd end;
///   const Status outcome = train(…, recorder.run_id(), end);    // fills end.metrics, end.counts
///   return recorder.finish(outcome, std::move(end));

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/store/registry.h"
#include "headrace/track/run_record.h"

namespace headrace {

/// Where runs lie below a tracking root.
inline constexpr std::string_view kRunsPrefix = "_headrace/runs/";

/// What to record of the object or folder at `location`: of a folder, its latest manifest (read whole, to
/// digest it); of an object, size and version.
/// \error kNotFound  nothing is there
Result<Artifact> describe_artifact(const Location& location, const CallOptions& call = {});

/// The folder whose _headrace/runs/ records runs with that output: the nearest one from the output's parent
/// upwards that has such records; if none has, the root of a store with an authority, or of a file:// store
/// the output's parent folder (the output itself if that parent is "/"). One listing for each folder above.
/// Folders that may not be read are passed over.
Result<Location> tracking_root(const Location& output, const CallOptions& call = {});

struct RecorderOptions {
  /// Tracking root to use instead (--track); empty: `tracking_root` of the output.
  std::string root_url{};
  /// False: the run publishes nothing (as `evaluate`); `output` only says where its record belongs.
  bool has_output = true;
  /// Wall clock: `Environment::now`. Must be given.
  std::function<std::chrono::system_clock::time_point()> now;
  CallOptions call{};
};

/// One run. Movable, not thread-safe. If `finish` is never called, the run stays "running or killed".
class RunRecorder {
 public:
  /// Creates the run's `start` object. `start` needs command, command_line and parameters; versions and host
  /// as far as known; inputs as far as known. `output`, `started` and `resumed_from` are filled in here: the
  /// last 256 runs below the root are looked at for an unfinished, failed or stopped one to the same output.
  static Result<RunRecorder> start(StoreRegistry& registry, const Location& output, RunStart start,
                                   const RecorderOptions& options);

  /// "20261121-032600-1f2e3d4c": for `created_by` of manifests.
  const std::string& run_id() const { return id_; }
  const Location& root() const { return root_; }

  /// Records an input that became known after the start; it is written with the end.
  void add_input(Artifact input) { inputs_.push_back(std::move(input)); }
  /// The same, described by `describe_artifact`.
  Status add_input(const Location& input);
  /// Records an output, described by `describe_artifact`: call it when it is published.
  Status add_output(const Location& output);

  /// Creates the run's `end` object, with the status that `outcome` means (kCancelled: stopped), and returns
  /// `outcome`; or why the record could not be written, where the outcome was good. `end` needs metrics,
  /// counts and versions; inputs and outputs are added to those recorded before. Is written even after a
  /// stop was asked for. Call once.
  Status finish(const Status& outcome, RunEnd end);

 private:
  RunRecorder() = default;

  Location root_;
  std::string id_;
  std::vector<Artifact> inputs_;
  std::vector<Artifact> outputs_;
  RecorderOptions options_;
  std::chrono::system_clock::time_point started_{};
};

}  // namespace headrace
