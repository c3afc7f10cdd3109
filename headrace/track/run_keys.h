#pragma once

/// \file Names and keys of run records: docs/formats/run-record.md.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/base/result.h"

namespace headrace {

/// Below a tracking root: event files with the media of a part are in <run id>/<part>/.
inline constexpr std::string_view kMediaPrefix = "_headrace/media/";

/// Below a tracking root: what a part has printed is in <run id>/<part>/.
inline constexpr std::string_view kConsolePrefix = "_headrace/console/";

/// Where runs lie below a tracking root. Runs of version 1 lie directly in it.
inline constexpr std::string_view kRunsPrefix = "_headrace/runs/";
/// Where parts of runs of version 2 lie.
inline constexpr std::string_view kRunPartsPrefix = "_headrace/runs/v2/";
/// Entries that say which runs concern a URL: catalog.h.
inline constexpr std::string_view kCatalogPrefix = "_headrace/runs/catalog/";

/// 1 to 64 letters, digits, '.', '_' and '-', the first a letter or a digit; of names in a record, too.
/// \error kInvalidArgument
Status check_run_name(std::string_view name);

/// "20261121-032600-1f2e3d4c".
std::string make_run_id(std::chrono::system_clock::time_point start, std::uint32_t random);

/// "000003-fe5e0311d442-1f2e3d4c": parts of a rank sort newest first.
std::string make_part_name(std::uint64_t rank, std::chrono::system_clock::time_point start,
                           std::uint32_t random);

struct PartName {
  std::uint64_t rank = 0;
  std::uint64_t started_ms = 0;  // since 1970
};
std::optional<PartName> parse_part_name(std::string_view name);
/// "000003-": the beginning of the names of a rank's parts.
std::string part_name_prefix(std::uint64_t rank);

/// Key of an object of a part, without the tracking root's.
std::string part_key(std::string_view run, std::string_view part, std::string_view object);

}  // namespace headrace
