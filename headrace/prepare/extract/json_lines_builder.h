#pragma once

/// \file Parts of a dataset that are gzipped JSON Lines: reports and inputs. docs/formats/plan.md.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/record/manifest.h"
#include "headrace/store/location.h"

namespace headrace {

/// Collects lines, and compresses them. Use it from one thread at a time.
class JsonLinesBuilder {
 public:
  /// Adds one JSON text without an end of line.
  Status add(std::string_view json);

  /// Writes the lines so far and forgets them. Returns none, and writes nothing, if there are none.
  Result<std::optional<ManifestPart>> write(const Location& folder, const std::string& name,
                                            std::string_view role);

 private:
  Status end_member();

  std::string text_;
  Bytes compressed_;
  std::uint64_t lines_ = 0;
};

}  // namespace headrace
