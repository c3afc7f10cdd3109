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

/// The URL that records use for a location: without its query, which is meant for the driver, and without
/// secrets.
std::string recorded_url(const Location& location);

/// Describes the object, folder or pattern at `location` for a record. A published folder is described by its
/// manifest, which is read to compute its digest: the latest, or the one that `choice` names. An object is
/// described by its size and version.
/// \error kNotFound  nothing is there, nothing matches, or there is no such manifest
Result<Artifact> describe_artifact(const Location& location, const ManifestChoice& choice = {});

/// The tracking root of an output: the nearest folder, from the output's parent upwards, that has records in
/// _headrace/runs/. If there is none: the root of the store, if its URLs have an authority; else the output's
/// parent folder, or the output itself if that parent is "/". Folders that may not be read are skipped. Cost:
/// one listing for each folder above.
Result<Location> tracking_root(const Location& output, const CallOptions& call = {});

/// Finds all folders at and below `folder` that hold _headrace/runs/, in the order of their keys. Ignores
/// folders within a _headrace/. Cost: one listing of the objects below `folder`, in which each _headrace/
/// takes four requests at most, whatever it holds (records, catalog, metrics, media).
Result<std::vector<Location>> tracking_roots_below(const Location& folder, const CallOptions& call = {});

struct RecorderOptions {
  /// The tracking root (--track); empty: `tracking_root` of the output.
  std::string root_url{};
  /// Id of the run (--run-id), which its other ranks and earlier attempts share; empty: a new id.
  std::string run_id{};
  /// This process's rank, and the number of ranks. More than one rank requires a run id.
  std::uint64_t rank = 0;
  std::uint64_t ranks = 1;
  /// False: this run does not continue an unfinished earlier run into the same output; that one may still be
  /// running.
  bool continues_earlier = true;
  /// False: the run publishes nothing, and `output` only determines where its record belongs.
  bool has_output = true;
  /// Wall clock.
  std::function<std::chrono::system_clock::time_point()> now = Environment{}.now;
  CallOptions call{};
};

/// Records one part of a run. Movable, not thread-safe. If `finish` is never called, the part stays "running
/// or killed". When an `add_…` returns, the record is in the store; its catalog entry is written first.
class RunRecorder {
 public:
  /// Creates the part's `start` object. The caller sets `start`'s command, command_line and parameters, and
  /// versions, host and inputs as far as they are known. This function sets output, started, rank, ranks and
  /// resumed_from, and adds to remarks. Cost: a number of requests that does not depend on the number of
  /// runs; but if the output has no entry, also reads the last 256 runs of version 1.
  /// \error kInvalidArgument     the run id is no valid name; the rank is not below `ranks`; several ranks
  ///                             without a run id
  /// \error kFailedPrecondition  the run with that id has another command or output
  static Result<RunRecorder> start(StoreRegistry& registry, const Location& output, RunStart start,
                                   const RecorderOptions& options);

  /// Id of the run, for `created_by` of manifests: "20261121-032600-1f2e3d4c".
  const std::string& run_id() const { return entry_.run; }
  /// Name of this process's part of the run (run_keys.h).
  const std::string& part() const { return entry_.part; }
  const Location& root() const { return root_; }
  /// Warnings for the user, such as that the run continues on another kind of processor.
  const std::vector<std::string>& remarks() const { return remarks_; }

  /// Records an input that became known after the start. If its name is taken, appends "-2", "-3", ….
  Status add_input(Artifact input);
  /// Records the input that `describe_artifact` finds. `version`: number of the manifest; none: the latest.
  Status add_input(std::string name, const Location& input, std::optional<std::uint64_t> version = {});
  /// Records an output. If its name is taken, appends "-2", "-3", …. Needed where describe_artifact cannot
  /// describe it, for example because it lies in no store.
  Status add_output(Artifact output);
  /// Records the output that `describe_artifact` finds. Call it when the output is published.
  Status add_output(std::string name, const Location& output);
  /// Records where metrics are logged. Call it before the first point.
  Status add_series(RunSeries series);

  /// Creates the part's `end` object, with the status that `outcome` means (kCancelled: stopped), even after
  /// a stop was requested. Returns `outcome`; or, if that is good, why the record could not be written. The
  /// caller sets `end`'s metrics, counts and versions; its inputs, outputs and series become those that were
  /// added. Call it once.
  Status finish(const Status& outcome, RunEnd end);
  /// As `finish`, but returns whether the end is in the store, whatever `outcome` is. May be repeated after
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
