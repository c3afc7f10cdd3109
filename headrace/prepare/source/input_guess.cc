#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/codec/sample_path.h"
#include "headrace/coordinate/chain.h"
#include "headrace/prepare/archive/archived_files.h"
#include "headrace/prepare/source/input.h"
#include "headrace/prepare/source/input_names.h"
#include "headrace/store/glob.h"

namespace headrace {
namespace {

constexpr std::size_t kNamesLookedAt = 1000;
constexpr std::uint64_t kArchiveBytes = 64 << 20;  // how much of an archive is read to see names
constexpr std::size_t kNameBytes = 200;

// Collects the formats that names suggest, each with the first name that suggests it.
class Guess {
 public:
  Guess(std::string name, bool needs_labels) : name_(std::move(name)), needs_labels_(needs_labels) {}

  void add(InputFormat format, std::string_view path) {
    found_.try_emplace(format, printable_line(path, kNameBytes));
  }

  // Takes the path of a file below a folder or in an archive.
  void add_path(std::string_view path) {
    if (is_arrow_name(path)) arrow_file_ = printable_line(path, kNameBytes);
    if (is_example(Layout::kImageFolder, path) && needs_labels_) return add(InputFormat::kImageFolder, path);
    if (is_example(Layout::kImageFiles, path)) return add_without_label(InputFormat::kImageFiles, path);
    const ClassifiedPath imdb = classify_path(Layout::kAclImdb, path);
    if (imdb.verdict == PathVerdict::kExample) return add(InputFormat::kAclImdb, path);
    // Files that the layout aclimdb ignores ("unsup") are not examples of a text folder either.
    const bool is_known = !imdb.reason.starts_with("outside of ");
    if (is_known) return;
    if (is_example(Layout::kTextFolder, path) && needs_labels_) return add(InputFormat::kTextFolder, path);
    if (is_example(Layout::kTextFiles, path)) add_without_label(InputFormat::kTextFiles, path);
  }

  Result<InputFormat> finish() {
    if (!needs_labels_ && without_label_ && !found_.contains(InputFormat::kWebDataset))
      found_.insert(*without_label_);
    if (found_.size() == 1) return found_.begin()->first;
    if (found_.empty() && !arrow_file_.empty()) return arrow_error();
    if (found_.empty() && is_workbook_name(name_)) {
      return Error{Code::kInvalidArgument,
                   concat(name_,
                          " is a spreadsheet workbook, which Headrace does not read: save its table as "
                          "CSV, or in Python pass the frame of pandas.read_excel to ",
                          needs_labels_ ? "headrace.prepare" : "headrace.load(…).predict")};
    }
    if (found_.empty() && without_label_) {
      return Error{Code::kInvalidArgument,
                   concat("files in ", name_, ", such as ", without_label_->second,
                          ", lie in no folder that names their label: name the folder above, or read them "
                          "without labels with --layout ",
                          input_format_name(without_label_->first))};
    }
    std::vector<std::string> told, options;
    for (const auto& [format, path] : found_) {
      told.push_back(concat(input_format_name(format), " (", path, ")"));
      options.push_back(concat("--layout ", input_format_name(format)));
    }
    const std::string what =
        told.empty()
            ? concat("no ending or folder suggests one; name it with --layout: ", list_input_formats())
            : concat("they suggest ", join(told, " and "), "; choose one with ", join(options, " or "));
    return Error{Code::kInvalidArgument,
                 concat("cannot tell the format of ", name_, " from its names: ", what)};
  }

 private:
  Error arrow_error() const {
    const std::string what = concat(arrow_file_, " in ", name_,
                                    " is an Arrow table, which this command does not read: in Python, ");
    if (needs_labels_) {
      return {Code::kInvalidArgument,
              concat(what, "headrace.prepare(…) reads it: docs/how-to/prepare-from-python.md")};
    }
    const bool is_parquet = to_lower(arrow_file_).ends_with(".parquet");
    return {Code::kInvalidArgument,
            concat(what, "headrace.load(…).predict(pandas.", is_parquet ? "read_parquet" : "read_feather",
                   "(…)) predicts its rows; or save it as CSV")};
  }

  static bool is_example(Layout layout, std::string_view path) {
    return classify_path(layout, path).verdict == PathVerdict::kExample;
  }
  void add_without_label(InputFormat format, std::string_view path) {
    const bool is_image_beside_texts = without_label_ && without_label_->first < format;
    if (!without_label_ || is_image_beside_texts) without_label_ = {format, printable_line(path, kNameBytes)};
  }

  const std::string name_;
  const bool needs_labels_;
  // A file that is a row if rows need no labels. Texts beside images are not rows, since they describe the
  // images.
  std::optional<std::pair<InputFormat, std::string>> without_label_;
  std::string arrow_file_;
  std::map<InputFormat, std::string> found_;
};

// Whether two successive files belong to one sample, such as "1.jpg" and "1.cls": they have one key, and the
// last endings of their names differ.
bool are_one_sample(std::string_view a, std::string_view b) {
  const auto first = split_sample_path(a), second = split_sample_path(b);
  if (!first || !second || first->key != second->key) return false;
  return a.substr(a.rfind('.')) != b.substr(b.rfind('.'));
}

Result<InputFormat> guess_archive(const Location& location, const ObjectInfo& object, bool needs_labels) {
  Guess guess(location.describe(), needs_labels);
  ArchivedFiles files({{location, object.size_bytes, object.version, {}}});
  std::string before;
  for (std::size_t seen = 0; seen < kNamesLookedAt && files.consumed_bytes() < kArchiveBytes; ++seen) {
    auto file = files.next();
    if (!file) return file.error().in("looking at the input");
    if (!*file) break;
    if ((*file)->kind != EntryKind::kFile) continue;
    guess.add_path((*file)->path);
    if (are_one_sample(before, (*file)->path)) guess.add(InputFormat::kWebDataset, (*file)->path);
    before = std::move((*file)->path);
  }
  return guess.finish();
}

Result<InputFormat> guess_object(const Location& location, const ObjectInfo& object, bool needs_labels) {
  if (is_archive_name(location.key)) return guess_archive(location, object, needs_labels);
  Guess guess(location.describe(), needs_labels);
  if (const auto format = format_of_name(location.key)) {
    guess.add(*format, last_segment(location.key));
  } else if (is_arrow_name(location.key)) {
    guess.add_path(last_segment(location.key));
  }
  return guess.finish();
}

}  // namespace

Result<InputFormat> guess_input_format(const Location& location, bool needs_labels) {
  if (!location.key.empty()) {
    const auto object = location.store->stat(location.key, {});
    if (object) return guess_object(location, *object, needs_labels);
    if (object.error().code != Code::kNotFound && !is_pattern(location.key))
      return object.error().in("looking at the input");
  }
  Guess guess(location.describe(), needs_labels);
  std::size_t seen = 0;
  const std::string prefix = folder_prefix(location.key);
  HEADRACE_TRY(const std::optional<NumberedObject> published, read_current_manifest(location));
  if (published) return InputFormat::kTfrecord;
  const auto visit = [&](std::string_view path) {
    const auto format = is_hidden_path(path) ? std::nullopt : format_of_name(path);
    if (format) {
      guess.add(*format, path);
    } else {
      guess.add_path(path);
    }
    return ++seen < kNamesLookedAt;
  };
  HEADRACE_CHECK(location.store->list(prefix, {}, [&](const ObjectInfo& object) {
    return visit(std::string_view(object.key).substr(prefix.size()));
  }));
  if (seen == 0 && is_pattern(location.key)) {
    HEADRACE_CHECK(visit_matches(*location.store, location.key, {},
                                 [&](const ObjectInfo& object) { return visit(last_segment(object.key)); }));
  }
  if (seen > 0) return guess.finish();
  return Error{Code::kNotFound,
               concat("there is nothing at ", location.describe(), "; check the URL with headrace ls")};
}

}  // namespace headrace
