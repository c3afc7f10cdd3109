#pragma once

/// \file The report: one line for each row that was not simply written. docs/formats/plan.md, "Report".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/prepare/extract/json_lines_builder.h"
#include "headrace/prepare/schema/image_converter.h"

namespace headrace {

struct ReportLine {
  std::string_view id;
  std::string_view status;  // "rejected", "dropped", "duplicate", "changed", "written", "ignored"
  std::string_view reason{};
  std::string_view detail{};
  std::string_view source{};
  std::uint64_t row = 0;  // in the source; 0: not from a table
  std::optional<ConvertedImage> image{};
};

/// Collects lines, and compresses them. Not thread-safe.
class ReportBuilder {
 public:
  Status add(const ReportLine& line);

  /// As JsonLinesBuilder::write.
  Result<std::optional<ManifestPart>> write(const Location& folder, const std::string& name);
  /// As JsonLinesBuilder::write_work.
  Result<std::optional<ManifestPart>> write_work(const Location& folder, const std::string& name);

 private:
  JsonLinesBuilder lines_;
};

}  // namespace headrace
