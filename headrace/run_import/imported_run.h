#pragma once

/// \file A run as another tracker recorded it. docs/formats/run-record.md, "Imported runs".

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "headrace/base/json.h"
#include "headrace/track/run_record.h"

namespace headrace {

struct ImportedRun {
  std::string identity;  // stable for a run; docs/formats/run-record.md defines it for each source
  std::string source;    // "mlflow", "tensorboard", "wandb", "neptune"
  std::string id;        // of the run in the source
  std::string name{};
  std::string group{};  // experiment or project
  std::string place{};  // URL of the source, as in records
  std::map<std::string, std::string> parameters{};
  std::map<std::string, std::string> tags{};
  RunStatus status = RunStatus::kFinished;
  std::string error{};  // why it failed
  /// Times since 1970. No `ended`: the source knows no end.
  std::chrono::milliseconds started{};
  std::optional<std::chrono::milliseconds> ended{};
  /// Final values, which replace the last points.
  std::map<std::string, double> metrics{};
  std::vector<std::string> remarks{};
  /// Describes how much data the source has of the parts that are not in this struct, such as points. Must
  /// change when the source gets more data.
  std::string state{};
};

/// The id of the run in Headrace: "mlflow-5d41402abc4b2a76".
std::string imported_run_id(const ImportedRun& run);
/// The name of the part to write. `known`: the parts that the record has, none of which has ended: their
/// imports were cut short, or are running. If one of them was written from the same state of the source,
/// returns its name, and the import continues it. Otherwise returns a new name, which sorts as a later
/// attempt.
std::string imported_part_name(const ImportedRun& run, const std::set<std::string>& known = {});

/// The parameters of the record: params, tags, name, group, and where the run comes from.
std::map<std::string, std::string> imported_parameters(const ImportedRun& run);

/// The nearest time that a record can hold: from 1970 to the end of 2199.
std::chrono::system_clock::time_point recordable_time(std::chrono::milliseconds since_1970);

/// Reads the JSON object that python/headrace/_src/imports/source_run.py writes. Does not set `place`.
/// \throws JsonError  a member is missing, or has another type
ImportedRun imported_run_from_json(const Json& from);

}  // namespace headrace
