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

  /// Creates an object of the lines so far and forgets them. Returns none, and creates nothing, if there are
  /// none.
  /// \error kFailedPrecondition  it is there with other lines: see create_once
  Result<std::optional<ManifestPart>> write(const Location& folder, const std::string& name,
                                            std::string_view role);
  /// The same, in a work folder: see write_unless_same.
  Result<std::optional<ManifestPart>> write_work(const Location& folder, const std::string& name,
                                                 std::string_view role);

 private:
  Status end_member();
  // The part with the lines so far, which are forgotten.
  ManifestPart take_part(const std::string& name, std::string_view role);

  std::string text_;
  Bytes compressed_;
  std::uint64_t lines_ = 0;
};

}  // namespace headrace
