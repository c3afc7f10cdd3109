#pragma once

/// \file Layouts: what a path in a raw data set says about its text: split, label, or why it is none.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

enum class PathVerdict : std::uint8_t {
  kExample,   // a labelled text
  kIgnored,   // known to the layout, but no labelled text
  kRejected,  // must not be followed, or does not fit the layout
};

struct ClassifiedPath {
  PathVerdict verdict = PathVerdict::kIgnored;
  std::string split{};   // of an example
  std::string label{};   // of an example
  std::string reason{};  // of the others: a short phrase, the same for all paths of a kind
};

/// Class names of a layout, in the order of the one-hot positions: "pos" is [1,0].
const std::vector<std::string>& layout_labels();
/// Splits that a layout fills.
const std::vector<std::string>& layout_splits();

/// Stanford's Large Movie Review Dataset: aclImdb/{train,test}/{pos,neg}/ID_RATING.txt. Everything else it
/// ships (unsup, vocabularies, URL lists, feature files, README) and what file systems leave (.DS_Store, ._x)
/// is ignored with its reason; absolute paths and paths with ".." are rejected. The top folder's name does
/// not matter.
ClassifiedPath classify_aclimdb_path(std::string_view path);

}  // namespace headrace
