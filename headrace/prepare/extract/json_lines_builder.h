#pragma once

/// \file Parts of a data set that are JSON Lines, in gzip: reports and inputs. docs/formats/plan.md.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/record/manifest.h"
#include "headrace/store/location.h"

namespace headrace {

/// Collects lines, compressed. One thread at a time.
class JsonLinesBuilder {
 public:
  /// One JSON text without an end of line.
  Status add(std::string_view json);

  /// Writes what was collected, if anything, and forgets it.
  Result<std::optional<ManifestPart>> write(const Location& folder, const std::string& name,
                                            std::string_view role);

 private:
  Status end_member();

  std::string text_;
  Bytes compressed_;
  std::uint64_t lines_ = 0;
};

}  // namespace headrace
