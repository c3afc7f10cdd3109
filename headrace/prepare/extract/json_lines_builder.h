#pragma once

/// \file Builds parts of a dataset that are gzipped JSON Lines: reports and inputs. docs/formats/plan.md.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/record/manifest.h"
#include "headrace/store/location.h"

namespace headrace {

/// Collects lines, and compresses them. Not thread-safe. Memory: the compressed lines, and 1 MiB.
class JsonLinesBuilder {
 public:
  /// Adds one JSON text without an end of line.
  Status add(std::string_view json);

  /// Creates an object with the lines so far, and forgets them. If there are no lines, creates nothing and
  /// returns nullopt.
  /// \error kFailedPrecondition  the object exists with other bytes: see create_once
  Result<std::optional<ManifestPart>> write(const Location& folder, const std::string& name,
                                            std::string_view role);
  /// As `write`, but in a work folder: see write_unless_same.
  Result<std::optional<ManifestPart>> write_work(const Location& folder, const std::string& name,
                                                 std::string_view role);

 private:
  Status end_member();
  // The part with the lines so far. Forgets them.
  ManifestPart take_part(const std::string& name, std::string_view role);

  std::string text_;
  Bytes compressed_;
  std::uint64_t lines_ = 0;
};

}  // namespace headrace
