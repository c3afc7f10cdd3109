#pragma once

/// \file WebDataset's file names: which files of a tar belong to one sample, and which hold numbers.
/// docs/formats/webdataset.md says where this follows the webdataset library and where it does not.

#include <cstdint>
#include <optional>
#include <string_view>

#include "headrace/base/bytes.h"

namespace headrace {

/// The feature that holds a sample's key.
inline constexpr std::string_view kSampleKeyFeature = "__key__";

/// The most files of a sample. A sample with more is damaged.
inline constexpr std::size_t kMaxSampleFiles = 1000;

/// A file name in two parts. Consecutive files with the same key are one sample.
struct SampleFileName {
  std::string_view key;    // the path before the first '.' of its last segment, without a leading "./"
  std::string_view field;  // everything after that '.', as written
};
/// Splits a path; the parts view `path`. None for names that webdataset skips, which have no '.' or lie below
/// a first segment like "__this__", and for names that begin with '.', which file systems leave behind.
std::optional<SampleFileName> split_sample_path(std::string_view path);

/// True if webdataset decodes the field as a number: its last extension is "cls", "cls2", "index", "inx" or
/// "id". REQUIRES: `field` is in lower case.
bool is_sample_number_field(std::string_view field);

/// Reads a decimal integer, with an optional sign and white space around it, as Python's int() does. None for
/// anything else, for more than 64 bytes, and for numbers that do not fit.
std::optional<std::int64_t> parse_sample_number(BytesView data);

}  // namespace headrace
