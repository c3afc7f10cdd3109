#pragma once

/// \file Names and keys of run records. docs/formats/run-record.md.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/base/result.h"

namespace headrace {

/// Prefix below a tracking root. Event files with the media of a part are in <run id>/<part>/ below it.
inline constexpr std::string_view kMediaPrefix = "_headrace/media/";

/// Prefix below a tracking root. The console output of a part is in <run id>/<part>/ below it.
inline constexpr std::string_view kConsolePrefix = "_headrace/console/";

/// Prefix of runs below a tracking root. Runs of version 1 lie directly below it.
inline constexpr std::string_view kRunsPrefix = "_headrace/runs/";
/// Prefix of the parts of runs of version 2.
inline constexpr std::string_view kRunPartsPrefix = "_headrace/runs/v2/";
/// Prefix of the entries that say which runs concern a URL: catalog.h.
inline constexpr std::string_view kCatalogPrefix = "_headrace/runs/catalog/";

/// Checks the id of a run, or a name within a record: 1 to 64 letters, digits, '.', '_' and '-', of which the
/// first is a letter or a digit.
/// \error kInvalidArgument  it is no such name
Status check_run_name(std::string_view name);

/// A new run id: "20261121-032600-1f2e3d4c".
std::string make_run_id(std::chrono::system_clock::time_point start, std::uint32_t random);

/// The name of a part: "000003-fe5e0311d442-1f2e3d4c". The parts of a rank sort newest first.
std::string make_part_name(std::uint64_t rank, std::chrono::system_clock::time_point start,
                           std::uint32_t random);

struct PartName {
  std::uint64_t rank = 0;
  std::uint64_t started_ms = 0;  // since 1970
};
std::optional<PartName> parse_part_name(std::string_view name);
/// The prefix that the names of a rank's parts share: "000003-".
std::string part_name_prefix(std::uint64_t rank);

/// Key of an object of a part, relative to the tracking root.
std::string part_key(std::string_view run, std::string_view part, std::string_view object);

}  // namespace headrace
