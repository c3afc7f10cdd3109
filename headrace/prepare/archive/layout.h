#pragma once

/// \file Layouts: what a path in a raw data set says about its text or image: split, label, or why it is no
/// example.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

enum class Layout : std::uint8_t { kAclImdb, kTextFolder, kImageFolder };

enum class PathVerdict : std::uint8_t {
  kExample,   // a labelled text or image
  kIgnored,   // known to the layout, but no example
  kRejected,  // must not be followed, or does not fit the layout
};

struct ClassifiedPath {
  PathVerdict verdict = PathVerdict::kIgnored;
  std::string split{};   // of an example, as written; empty: it has none
  std::string label{};   // of an example
  std::string reason{};  // of the others: a short phrase, the same for all paths of a kind
};

/// Class names of aclimdb, in the order of the one-hot positions: "pos" is [1,0].
const std::vector<std::string>& layout_labels();
/// Splits that aclimdb fills.
const std::vector<std::string>& layout_splits();

/// A path below a folder, or in an archive, with '/' between its segments. Absolute paths, paths with ".."
/// and such as are not UTF-8 are rejected; what file systems leave (.DS_Store, ._x, __MACOSX) is ignored.
/// It is decided by the path alone, so all tasks come to the same.
///
/// kAclImdb: Stanford's Large Movie Review Dataset: aclImdb/{train,test}/{pos,neg}/ID_RATING.txt. Everything
/// else it ships (unsup, vocabularies, URL lists, feature files, README) is ignored with its reason. The top
/// folder's name does not matter.
///
/// kTextFolder, kImageFolder: the folder that a file lies in is its label, and the one above it its split, if
/// it is named as one: train, training, test, testing, val, valid, validation, dev, eval, evaluation, fold,
/// split, holdout, discard; in any case, also with a number or "set" behind it ("test2", "training_set"). Any
/// other folders above ("aclImdb/", "PetImages/") say nothing. A file that lies in a split's folder but in no
/// label's, or deeper below one than a label's, is rejected. Texts end in .txt, images in .jpg, .jpeg or
/// .png, in any case; other images are rejected, and all else is ignored.
ClassifiedPath classify_path(Layout layout, std::string_view path);

}  // namespace headrace
