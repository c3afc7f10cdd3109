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
  std::vector<std::pair<std::string, std::string>> numbers;  // feature → "3, 4.5", or names of values
};

/// How many features of each kind are shown: the first ones, by name.
struct PreviewLimits {
  std::size_t texts = 0;
  std::size_t text_bytes = 0;  // of each text
  std::size_t pictures = 0;
  std::size_t numbers = 0;  // features with at most kPreviewNumbers values, or a name for each value
};
inline constexpr std::size_t kPreviewNumbers = 16;

/// Selects the parts of a record to show. Byte strings that are UTF-8, or nearly so, are texts. Other byte
/// strings are shown if they are pictures. Pure.
/// \param record        a serialized tf.Example
/// \param vocabularies  feature → its values in the order of their ids
/// \error kDataLoss  the record is not a tf.Example
Result<RecordPreview> preview_record(BytesView record,
                                     const std::map<std::string, std::vector<std::string>>& vocabularies,
                                     const PreviewLimits& limits);

}  // namespace headrace
