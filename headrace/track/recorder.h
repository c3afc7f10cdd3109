#pragma once

/// \file Writes the record of a run. In a stage:
///
///   HEADRACE_TRY(RunRecorder recorder, RunRecorder::start(registry, output, std::move(run_start), options));
///   HEADRACE_CHECK(recorder.add_input("data", data));
///   RunEnd end;
///   const Status outcome = train(…, recorder.run_id(), end);    // fills end.metrics, end.counts
///   return recorder.finish(outcome, std::move(end));

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/environment.h"
#include "headrace/store/registry.h"
#include "headrace/track/catalog.h"
#include "headrace/track/published_folder.h"
#include "headrace/track/run_record.h"

namespace headrace {

/// The URL by which records name a place: without a query, which is the driver's own, and without secrets.
std::string recorded_url(const Location& location);

/// Describes the object, folder or pattern at `location` for a record: a folder by its manifest, the latest
/// unless `choice` names another (read whole, to digest it); an object by size and version.
/// \error kNotFound  nothing is there, nothing matches, or no such manifest
Result<Artifact> describe_artifact(const Location& location, const ManifestChoice& choice = {});

/// The folder whose _headrace/runs/ records runs with that output: the nearest one from the output's parent
/// upwards that has such records; if none has, the root of a store with an authority, or of a file:// store
/// the output's parent folder (the output itself if that parent is "/"). One listing for each folder above.
/// Folders that may not be read are passed over.
Result<Location> tracking_root(const Location& output, const CallOptions& call = {});

/// The folders at and below `folder` that hold _headrace/runs/, in the order of their records. One listing of
/// the objects below `folder`, in which each _headrace/ takes four requests at most, whatever it holds:
/// records, catalog, metrics, media. Folders within a _headrace/ are nobody's roots.
Result<std::vector<Location>> tracking_roots_below(const Location& folder, const CallOptions& call = {});

struct RecorderOptions {
  /// Tracking root to use instead (--track); empty: `tracking_root` of the output.
  std::string root_url{};
  /// Id of the run (--run-id), which other ranks and earlier attempts may have, too; empty: a new one.
  std::string run_id{};
  /// Which process of the run this is, of how many; several need a run id.
  std::uint64_t rank = 0;
  std::uint64_t ranks = 1;
  /// False: an unfinished earlier run into the same output is not continued by this one, or may be at work.
  bool continues_earlier = true;
  /// False: the run publishes nothing; `output` only says where its record belongs.
  bool has_output = true;
  /// Wall clock.
  std::function<std::chrono::system_clock::time_point()> now = Environment{}.now;
  CallOptions call{};
};

/// One part of a run. Movable, not thread-safe. If `finish` is never called, it stays "running or killed".
/// Whatever is added is in the store when the call returns, entry of the catalog first.
class RunRecorder {
 public:
  /// Creates the part's `start` object. `start` needs command, command_line and parameters; versions and host
  /// as far as known; inputs as far as known. `output`, `started`, `rank`, `ranks`, `resumed_from` and
  /// `remarks` are filled in here. Takes a number of requests that does not depend on how many runs there
  /// are, but for those of version 1, of which the last 256 are read if there is no entry of the output.
  /// \error kInvalidArgument     the run id breaks its grammar; several ranks without one
  /// \error kFailedPrecondition  the run of that id is of another command, or into another output
  static Result<RunRecorder> start(StoreRegistry& registry, const Location& output, RunStart start,
                                   const RecorderOptions& options);

  /// "20261121-032600-1f2e3d4c": for `created_by` of manifests.
  const std::string& run_id() const { return entry_.run; }
  /// Name of this process's part of it: run_keys.h.
  const std::string& part() const { return entry_.part; }
  const Location& root() const { return root_; }
  /// Warnings for the user: the run continues on another kind of processor.
  const std::vector<std::string>& remarks() const { return remarks_; }

  /// Records an input that became known after the start. A name that is taken gets "-2", "-3".
  Status add_input(Artifact input);
  /// The same, described by `describe_artifact`. `version`: number of the manifest; none: the latest.
  Status add_input(std::string name, const Location& input, std::optional<std::uint64_t> version = {});
  /// Records an output that lies in no store. A name that is taken gets "-2", "-3".
  Status add_output(Artifact output);
  /// The same, described by `describe_artifact`: call it when it is published.
  Status add_output(std::string name, const Location& output);
  /// Records where metrics are logged: call it before the first.
  Status add_series(RunSeries series);

  /// Creates the part's `end` object, with the status that `outcome` means (kCancelled: stopped), and returns
  /// `outcome`; or why the record could not be written, where the outcome was good. `end` needs metrics,
  /// counts and versions; what was added before is added to it. Is written even after a stop was asked for.
  /// Call once.
  Status finish(const Status& outcome, RunEnd end);
  /// As `finish`, but returns whether the end is in the store, whatever the outcome is. May be repeated after
  /// an error.
  Status write_end(const Status& outcome, RunEnd end);

 private:
  RunRecorder() = default;

  Status create(std::string_view object, const std::string& text, const CallOptions& call) const;
  Result<std::string> first_part(std::string_view prefix) const;
  Status check_same_run(const RunStart& start, const std::string& part) const;
  Status follow_earlier_parts(const RunStart& start);
  void start_after(std::string_view part);
  Status look_back(RunStart& start);

  Location root_;
  CatalogEntry entry_;
  RunSoFar so_far_;
  bool has_tried_end_ = false;
  std::vector<std::string> remarks_;
  RecorderOptions options_;
  std::chrono::system_clock::time_point started_{};
};

}  // namespace headrace
