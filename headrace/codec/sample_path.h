#pragma once

/// \file WebDataset's names: which files of a tar belong together, and which of them are numbers.
/// docs/formats/webdataset.md says where this follows the webdataset library and where it does not.

#include <cstdint>
#include <optional>
#include <string_view>

#include "headrace/base/bytes.h"

namespace headrace {

/// The feature that holds a sample's key.
inline constexpr std::string_view kSampleKeyFeature = "__key__";

/// A sample with more files is damaged.
inline constexpr std::size_t kMaxSampleFiles = 1000;

/// Files that follow one another and have the same key are a sample.
struct SampleFileName {
  std::string_view key;    // up to the first '.' of the path's last segment, without "./" in front
  std::string_view field;  // behind it, as written
};
/// None for names that webdataset skips: names without '.', or below a first segment like "__this__"; and for
/// names that begin with '.', which file systems leave behind. Views `path`.
std::optional<SampleFileName> split_sample_path(std::string_view path);

/// Whether webdataset decodes the field, in lower case, as a number: "cls", "cls2", "index", "inx", "id",
/// also behind another '.'.
bool is_sample_number_field(std::string_view field);

/// A decimal integer as Python's int() reads it, with a sign and white space around it; none for anything
/// else, and beyond 64 bytes.
std::optional<std::int64_t> parse_sample_number(BytesView data);

}  // namespace headrace
