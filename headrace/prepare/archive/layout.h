#pragma once

/// \file Layouts: the path of a file in a raw dataset gives its split and label, or why it is not an example.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

enum class Layout : std::uint8_t { kAclImdb, kTextFolder, kImageFolder, kTextFiles, kImageFiles };

/// True if its examples are images; otherwise they are texts.
bool holds_images(Layout layout);

enum class PathVerdict : std::uint8_t {
  kExample,   // a labelled text or image
  kIgnored,   // known to the layout, but not an example
  kRejected,  // must not be followed, or does not fit the layout
};

struct ClassifiedPath {
  PathVerdict verdict = PathVerdict::kIgnored;
  std::string split{};   // of an example, as written; empty: no split
  std::string label{};   // of an example; empty: the layout has no labels
  std::string reason{};  // of others: a short phrase that is the same for all cases of one kind
};

/// Class names of aclimdb, in the order of the one-hot positions: "pos" is [1,0].
const std::vector<std::string>& layout_labels();
/// The splits of aclimdb that have examples.
const std::vector<std::string>& layout_splits();

/// Classifies a path below a folder or in an archive, with '/' between its segments. Rejects absolute paths,
/// paths with "..", and paths that are not UTF-8. Ignores files that file systems leave behind (.DS_Store,
/// ._x, __MACOSX). The result depends only on the path, so all tasks agree.
///
/// kAclImdb is Stanford's Large Movie Review Dataset: aclImdb/{train,test}/{pos,neg}/ID_RATING.txt. Every
/// other file of that archive (unsup, vocabularies, URL lists, feature files, README) is ignored, with a
/// reason. The name of the top folder does not matter.
///
/// kTextFolder, kImageFolder: the folder of a file is its label. The folder above gives its split if it has
/// one of these names: train, training, test, testing, val, valid, validation, dev, eval, evaluation, fold,
/// split, holdout, discard; in any case, and optionally followed by a number or "set" ("test2",
/// "training_set"). Other folders above ("aclImdb/", "PetImages/") have no meaning. A file in a split's
/// folder is rejected unless it lies directly in a label's folder. Texts end in .txt, images in .jpg, .jpeg
/// or .png, in any case. Other images are rejected, and all other files are ignored.
///
/// kTextFiles, kImageFiles: the same files, wherever they lie, without splits and labels.
ClassifiedPath classify_path(Layout layout, std::string_view path);

}  // namespace headrace
