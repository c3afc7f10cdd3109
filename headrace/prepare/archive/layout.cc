#include "headrace/prepare/archive/layout.h"

#include <algorithm>
#include <array>
#include <span>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using Segments = std::vector<std::string>;

constexpr std::array<std::string_view, 14> kSplitNames = {
    "train", "training", "test",       "testing", "val",   "valid",   "validation",
    "dev",   "eval",     "evaluation", "fold",    "split", "holdout", "discard"};

ClassifiedPath ignored(std::string_view reason) {
  return {.verdict = PathVerdict::kIgnored, .reason = std::string(reason)};
}

ClassifiedPath rejected(std::string_view reason) {
  return {.verdict = PathVerdict::kRejected, .reason = std::string(reason)};
}

bool holds(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool ends_in(std::string_view name, std::span<const std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); });
}

bool is_left_by_a_file_system(std::string_view name) {
  return name.starts_with("._") || name == ".DS_Store" || name == "Thumbs.db" || name.starts_with(".");
}

// Also accepts "Train", "test2" and "training_set".
bool is_split_name(std::string_view name) {
  std::string word = to_lower(name);
  const auto strip = [&word](std::string_view characters) {
    word.erase(word.find_last_not_of(characters) + 1);  // npos + 1 is 0
  };
  strip("0123456789");
  strip("_- ");
  if (word.ends_with("set")) word.resize(word.size() - 3);
  strip("_- ");
  return std::ranges::find(kSplitNames, word) != kSplitNames.end();
}

ClassifiedPath classify_aclimdb_path(const Segments& segments) {
  const std::string& name = segments.back();
  if (holds(segments, "unsup")) return ignored("unsupervised text (unsup)");
  if (name.ends_with(".vocab") || name.ends_with("imdbEr.txt")) return ignored("vocabulary");
  if (name.ends_with(".feat")) return ignored("bag-of-words features");
  if (name.starts_with("urls_")) return ignored("list of URLs");
  if (name.starts_with("README")) return ignored("README");
  if (segments.size() < 3 || !name.ends_with(".txt")) return ignored("outside of <split>/<label>/*.txt");
  const std::string& label = segments[segments.size() - 2];
  const std::string& split_name = segments[segments.size() - 3];
  if (!holds(layout_splits(), split_name) || !holds(layout_labels(), label))
    return ignored("outside of <split>/<label>/*.txt");
  return {.verdict = PathVerdict::kExample, .split = split_name, .label = label};
}

// Classifies a file whose name is that of a text or an image.
ClassifiedPath classify_by_folders(Segments segments, bool has_labels) {
  segments.pop_back();
  if (holds(segments, "") || holds(segments, ".")) return rejected("path has an empty segment, or one \".\"");
  if (std::ranges::any_of(segments, is_left_by_a_file_system)) return ignored("left by a file system");
  if (!has_labels) return {.verdict = PathVerdict::kExample};
  if (segments.empty()) return ignored("outside of a label's folder");
  const std::string label = segments.back();
  segments.pop_back();
  if (!segments.empty() && is_split_name(segments.back()))
    return {.verdict = PathVerdict::kExample, .split = segments.back(), .label = label};
  if (is_split_name(label)) return rejected("in the folder of a split, but of no label");
  if (std::ranges::any_of(segments, is_split_name)) return rejected("deeper than <split>/<label>/");
  return {.verdict = PathVerdict::kExample, .label = label};
}

ClassifiedPath classify_text_path(Segments segments, bool has_labels) {
  if (!to_lower(segments.back()).ends_with(".txt")) return ignored("no .txt file");
  return classify_by_folders(std::move(segments), has_labels);
}

ClassifiedPath classify_image_path(Segments segments, bool has_labels) {
  constexpr std::array<std::string_view, 3> kRead = {".jpg", ".jpeg", ".png"};
  constexpr std::array<std::string_view, 5> kNotRead = {".gif", ".bmp", ".webp", ".tif", ".tiff"};
  const std::string name = to_lower(segments.back());
  const bool is_read = ends_in(name, kRead);
  if (!is_read && !ends_in(name, kNotRead)) return ignored("no .jpg, .jpeg or .png file");
  ClassifiedPath path = classify_by_folders(std::move(segments), has_labels);
  if (is_read || path.verdict != PathVerdict::kExample) return path;
  return rejected("image format that is not read");
}

}  // namespace

const std::vector<std::string>& layout_labels() {
  static const std::vector<std::string> kLabels = {"pos", "neg"};
  return kLabels;
}
const std::vector<std::string>& layout_splits() {
  static const std::vector<std::string> kSplits = {"train", "test"};
  return kSplits;
}

bool holds_images(Layout layout) { return layout == Layout::kImageFolder || layout == Layout::kImageFiles; }

ClassifiedPath classify_path(Layout layout, std::string_view path) {
  Segments segments = split(path, '/');
  if (path.starts_with('/') || holds(segments, "..")) return rejected("path leaves the archive");
  if (!is_valid_utf8(path) || path.find('\0') != std::string_view::npos) return rejected("path is not UTF-8");
  if (is_left_by_a_file_system(segments.back()) || holds(segments, "__MACOSX"))
    return ignored("left by a file system");
  switch (layout) {
    case Layout::kAclImdb:
      return classify_aclimdb_path(segments);
    case Layout::kTextFolder:
    case Layout::kTextFiles:
      return classify_text_path(std::move(segments), layout == Layout::kTextFolder);
    case Layout::kImageFolder:
    case Layout::kImageFiles:
      return classify_image_path(std::move(segments), layout == Layout::kImageFolder);
  }
  return ignored("of no layout");
}

}  // namespace headrace
