#pragma once

/// \file A run as another tracker has recorded it: docs/formats/run-record.md, "Imported runs".

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
  std::string identity;  // the same each time the run is read; the format says what it is for each source
  std::string source;    // "mlflow", "tensorboard", "wandb", "neptune"
  std::string id;        // that it has there
  std::string name{};
  std::string group{};  // experiment or project
  std::string place{};  // URL, as records have it
  std::map<std::string, std::string> parameters{};
  std::map<std::string, std::string> tags{};
  RunStatus status = RunStatus::kFinished;
  std::string error{};  // why it failed
  /// Since 1970. None of `ended`: the source knows no end.
  std::chrono::milliseconds started{};
  std::optional<std::chrono::milliseconds> ended{};
  /// Final values that count in place of the last points.
  std::map<std::string, double> metrics{};
  std::vector<std::string> remarks{};
  /// How much the source has of what is not here, such as points: another text as soon as it has more.
  std::string state{};
};

/// "mlflow-5d41402abc4b2a76".
std::string imported_run_id(const ImportedRun& run);
/// The name of the part to write, which is one of `known` if an import goes on. `known`: the parts that are
/// there. None of them has ended, so each is of an import that was cut short, or that is at work. From its
/// first object to its last, a part has one state of the source. If the source has changed, the part is a
/// later attempt.
std::string imported_part_name(const ImportedRun& run, const std::set<std::string>& known = {});

/// Params, and what else is kept as a parameter: name, tags, where the run comes from.
std::map<std::string, std::string> imported_parameters(const ImportedRun& run);

/// A time that records can have: from 1970 to 2200; others become the nearest.
std::chrono::system_clock::time_point recordable_time(std::chrono::milliseconds since_1970);

/// Reads the object that python/headrace/_src/imports/source_run.py writes, but for its `place`.
/// \throws JsonError  a member is missing, or of another type
ImportedRun imported_run_from_json(const Json& from);

}  // namespace headrace
