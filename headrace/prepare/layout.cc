#include "headrace/prepare/layout.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {
namespace {

ClassifiedPath ignored(std::string_view reason) {
  return {.verdict = PathVerdict::kIgnored, .reason = std::string(reason)};
}

bool holds(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_left_by_a_file_system(std::string_view name) {
  return name.starts_with("._") || name == ".DS_Store" || name == "Thumbs.db" || name.starts_with(".");
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

ClassifiedPath classify_aclimdb_path(std::string_view path) {
  const std::vector<std::string> segments = split(path, '/');
  if (path.starts_with('/') || holds(segments, "..")) {
    return {.verdict = PathVerdict::kRejected, .reason = "path leaves the archive"};
  }
  if (!is_valid_utf8(path) || path.find('\0') != std::string_view::npos) {
    return {.verdict = PathVerdict::kRejected, .reason = "path is not UTF-8"};
  }
  const std::string& name = segments.back();
  if (is_left_by_a_file_system(name) || holds(segments, "__MACOSX")) return ignored("left by a file system");
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

}  // namespace headrace
