#pragma once

/// \file The parts of a record that a page shows.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

struct RecordPreview {
  std::vector<std::pair<std::string, std::string>> texts;    // feature → its beginning, UTF-8
  std::vector<std::pair<std::string, Bytes>> thumbnails;     // feature → JPEG
  std::vector<std::pair<std::string, std::string>> numbers;  // feature → "3, 4.5", or values by name
};

/// The first features of each kind, by name, are shown.
struct PreviewLimits {
  std::size_t texts = 0;
  std::size_t text_bytes = 0;  // of each
  std::size_t pictures = 0;
  std::size_t numbers = 0;  // features, of at most kPreviewNumbers values
};
inline constexpr std::size_t kPreviewNumbers = 16;

/// Byte strings that are UTF-8, or nearly so, are texts; others are pictures, or not shown. `vocabularies`:
/// feature → its values in the order of their ids. Pure.
/// \error kDataLoss  not a tf.Example
Result<RecordPreview> preview_record(BytesView record,
                                     const std::map<std::string, std::vector<std::string>>& vocabularies,
                                     const PreviewLimits& limits);

}  // namespace headrace
