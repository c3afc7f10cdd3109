#pragma once

/// \file Runs and artifacts as text and as JSON, for the commands `runs` and `lineage`.

#include <string>
#include <string_view>

#include "headrace/base/json.h"
#include "headrace/track/run_record.h"

namespace headrace {

/// A number with four digits: "0.9812".
std::string format_metric(double number);

/// One line: id, command, status, duration, output, metrics. `status`: the status in the record, or the one
/// that MLflow's clients have set.
std::string run_line(const RunRecord& run, std::string_view status);

/// Everything about a run, one fact on each line, without a newline at the end.
std::string run_page(const RunRecord& run);

/// {"id", "status", "start": {…}, "end": {…}}, as in docs/formats/run-record.md. "end" is null if the run has
/// none. A run with several parts also has "parts", each with "part", "start" and "end".
Json run_to_json(const RunRecord& run);

/// "s3://datasets/reviews  dataset, manifest 1, 12.3 MB"; for a named artifact "cats:v3  artifact at s3://…,
/// 9 kB"
std::string artifact_line(const Artifact& artifact);

}  // namespace headrace
