#pragma once

/// \file The record of a run of a stage, as bytes: the command, its settings, its inputs and its outputs.
/// Format: docs/formats/run-record.md. recorder.h writes records; runs.h and lineage.h read them.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

/// Something that a run read or made: an object, or a folder with or without a manifest.
struct Artifact {
  std::string url;   // normalised, as Url::text() gives it
  std::string kind;  // a manifest's kind ("dataset", "checkpoint", …), else "object", "folder" or "pattern"
  /// The object's version; empty for folders.
  std::string version{};
  /// Number and SHA-256 of the manifest of a published folder; else 0 and empty. A SavedModel without a
  /// manifest has a digest, too.
  std::uint64_t manifest = 0;
  std::string digest{};
  /// Size of the object, or of all parts that the manifest names; 0 if unknown.
  std::uint64_t size_bytes = 0;
  /// The name that the run gives it: "data", "export". Empty in records of version 1.
  std::string name{};
};

/// Where a run logs metrics while it runs.
struct RunSeries {
  std::string name;  // "train"
  std::string url;   // of the folder or log, normalised
  std::string kind;  // its format: "event_files"
};

/// Facts that are known when a part of a run begins.
struct RunStart {
  std::string command;                    // "train"
  std::vector<std::string> command_line;  // from the program's name on
  /// Option → value as text: values of options only, never of environment variables.
  std::map<std::string, std::string> parameters;
  /// "headrace" → "0.1.0".
  std::map<std::string, std::string> versions;
  /// "cores", "processor", "instruction_sets", "tensorflow_kernels".
  std::map<std::string, std::string> host;
  std::vector<Artifact> inputs;
  /// The URL that the run writes to, normalised; empty: it publishes nothing.
  std::string output;
  std::string started;  // "2026-11-21T03:26:00.125Z"
  /// Id of the unfinished earlier run, with the same command and output, that this run continues; it may be
  /// this run. Empty: none.
  std::string resumed_from;
  /// The rank of this process, and the number of ranks.
  std::uint64_t rank = 0;
  std::uint64_t ranks = 1;
  /// Warnings given at the start.
  std::vector<std::string> remarks{};
};

enum class RunStatus : std::uint8_t {
  kUnfinished,  // no end was written: it is running, or was killed
  kFinished,
  kFailed,
  kStopped,  // by a signal or on request
};

/// "finished", "failed", "stopped"; "running or killed" for kUnfinished.
std::string_view run_status_name(RunStatus status);

/// The most final metrics that programs write, so that records stay small; further ones are only in the
/// series. A summary that the program records may add some.
inline constexpr std::size_t kMostFinalMetrics = 1000;

/// Facts that are known when a part of a run has ended.
struct RunEnd {
  RunStatus status = RunStatus::kFinished;
  std::string error{};             // why it failed or was stopped
  std::vector<Artifact> inputs{};  // those that became known while it ran
  std::vector<Artifact> outputs{};
  std::map<std::string, double> metrics{};        // final ones: "accuracy"
  std::map<std::string, std::uint64_t> counts{};  // "records", "rejected"
  /// Versions of software that the stage used, by name: "tensorflow", "engine", "encoder".
  std::map<std::string, std::string> versions{};
  std::string ended{};
  double seconds = 0;  // from start to end, by the wall clock
  std::vector<RunSeries> series{};
  /// Settings that became known after the start, or replace those of the start.
  std::map<std::string, std::string> parameters{};
};

/// The part of a record that is known before the process has ended.
struct RunSoFar {
  std::vector<Artifact> inputs{};
  std::vector<Artifact> outputs{};
  std::vector<RunSeries> series{};
};

/// The work of one process of a run.
struct RunPart {
  std::string name;  // see run_keys.h; empty in version 1
  RunStart start;
  /// None: see RunStatus::kUnfinished.
  std::optional<RunEnd> end{};
  /// Empty if there is an end.
  RunSoFar so_far{};
};

/// A run: one part, or several that `join_parts` has joined.
struct RunRecord {
  std::string id;
  RunStart start;
  /// None: see RunStatus::kUnfinished.
  std::optional<RunEnd> end{};
  RunSoFar so_far{};
  /// All parts, sorted by rank, and within a rank by attempt, the latest first.
  std::vector<RunPart> parts{};

  RunStatus status() const { return end ? end->status : RunStatus::kUnfinished; }
  /// All inputs, in the order in which they became known.
  std::vector<Artifact> inputs() const;
  /// The versions known at the start and at the end.
  std::map<std::string, std::string> versions() const;
  /// The parameters of the start, or of the end where it has another value.
  std::map<std::string, std::string> parameters() const;
  /// The published outputs. A run that was stopped or killed, or is still running, and recorded no output,
  /// has the folder that it writes to. A failed run then has none, because most failed runs were refused
  /// before they wrote.
  std::vector<Artifact> outputs() const;
};

/// Joins the parts of a run by the rules of docs/formats/run-record.md. REQUIRES: there is at least one part
RunRecord join_parts(std::string id, std::vector<RunPart> parts);

/// The bytes of the objects: canonical JSON with a checksum. Secrets in texts are replaced (redact.h).
std::string serialize_run_start(std::string_view id, const RunStart& start);
std::string serialize_run_end(std::string_view id, const RunEnd& end);
std::string serialize_run_input(std::string_view id, const Artifact& input);
std::string serialize_run_output(std::string_view id, const Artifact& output);
std::string serialize_run_series(std::string_view id, const RunSeries& series);

/// Parse the bytes of an object.
/// \error kDataLoss       it does not follow the format, or its checksum is wrong
/// \error kUnimplemented  its version is newer than this reader knows
Result<RunStart> parse_run_start(BytesView data);
Result<RunEnd> parse_run_end(BytesView data);
Result<Artifact> parse_run_input(BytesView data);
Result<Artifact> parse_run_output(BytesView data);
Result<RunSeries> parse_run_series(BytesView data);

}  // namespace headrace
