#include "headrace/prepare/source/input_names.h"

#include <algorithm>
#include <array>
#include <vector>

#include "headrace/base/text.h"

namespace headrace {
namespace {

struct Name {
  InputFormat format;
  std::string_view name;
};

constexpr std::array<Name, 11> kNames = {{{InputFormat::kAclImdb, "aclimdb"},
                                          {InputFormat::kTextFolder, "text-folder"},
                                          {InputFormat::kImageFolder, "image-folder"},
                                          {InputFormat::kTextFiles, "text-files"},
                                          {InputFormat::kImageFiles, "image-files"},
                                          {InputFormat::kCsv, "csv"},
                                          {InputFormat::kTsv, "tsv"},
                                          {InputFormat::kJsonLines, "jsonl"},
                                          {InputFormat::kWebDataset, "webdataset"},
                                          {InputFormat::kTfrecord, "tfrecord"},
                                          {InputFormat::kRequestLog, "request-log"}}};

constexpr std::array<Name, 7> kEndings = {{{InputFormat::kCsv, ".csv"},
                                           {InputFormat::kTsv, ".tsv"},
                                           {InputFormat::kJsonLines, ".jsonl"},
                                           {InputFormat::kJsonLines, ".ndjson"},
                                           {InputFormat::kWebDataset, ".tar"},
                                           {InputFormat::kTfrecord, ".tfrecord"},
                                           {InputFormat::kTfrecord, ".tfrecords"}}};

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const Name& known : kNames) names.emplace_back(known.name);
  return names;
}

void remove_ending(std::string_view& name, std::string_view ending) {
  if (name.ends_with(ending)) name.remove_suffix(ending.size());
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// Removes an ending such as "-00000-of-00010".
void remove_shard_number(std::string_view& name) {
  const std::size_t of = name.rfind("-of-");
  if (of == name.npos || !is_number(name.substr(of + 4))) return;
  const std::size_t dash = name.substr(0, of).rfind('-');
  if (dash != name.npos && is_number(name.substr(0, of).substr(dash + 1))) name = name.substr(0, dash);
}

}  // namespace

std::string_view input_format_name(InputFormat format) {
  const auto* const found = std::ranges::find(kNames, format, &Name::format);
  return found == kNames.end() ? "rows" : found->name;
}

Result<InputFormat> parse_input_format(std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name, &Name::name);
  if (found != kNames.end()) return found->format;
  const auto nearest = nearest_name(name, all_names());
  return Error{Code::kInvalidArgument, concat("no input format \"", printable_line(name, 100), "\"",
                                              nearest ? concat(" (did you mean ", *nearest, "?)") : "",
                                              "; there are ", list_input_formats())};
}

std::string list_input_formats() { return join(all_names(), ", "); }

std::optional<Layout> layout_of(InputFormat format) {
  switch (format) {
    case InputFormat::kAclImdb:
      return Layout::kAclImdb;
    case InputFormat::kTextFolder:
      return Layout::kTextFolder;
    case InputFormat::kImageFolder:
      return Layout::kImageFolder;
    case InputFormat::kTextFiles:
      return Layout::kTextFiles;
    case InputFormat::kImageFiles:
      return Layout::kImageFiles;
    default:
      return std::nullopt;
  }
}

std::optional<InputFormat> format_of_name(std::string_view path) {
  const std::string lower = to_lower(last_segment(path));
  std::string_view name = lower;
  if (name.ends_with(".tgz")) return InputFormat::kWebDataset;
  remove_ending(name, ".gz");
  const std::size_t whole = name.size();
  remove_shard_number(name);
  const auto* const found =
      std::ranges::find_if(kEndings, [&](const Name& ending) { return name.ends_with(ending.name); });
  if (found == kEndings.end()) return std::nullopt;
  // Only TFRecord files may have a number after their ending.
  if (name.size() != whole && found->format != InputFormat::kTfrecord) return std::nullopt;
  return found->format;
}

bool is_archive_name(std::string_view path) {
  constexpr std::array<std::string_view, 12> kArchives = {".tar",     ".tar.gz", ".tgz",    ".tar.bz2",
                                                          ".tbz",     ".tbz2",   ".tar.xz", ".txz",
                                                          ".tar.zst", ".tzst",   ".zip",    ".taz"};
  const std::string name = to_lower(last_segment(path));
  return std::ranges::any_of(kArchives, [&](std::string_view ending) { return name.ends_with(ending); });
}

bool is_arrow_name(std::string_view path) {
  const std::string name = to_lower(last_segment(path));
  return name.ends_with(".parquet") || name.ends_with(".feather") || name.ends_with(".arrow");
}

bool is_workbook_name(std::string_view path) {
  const std::string name = to_lower(last_segment(path));
  return name.ends_with(".xlsx") || name.ends_with(".xls") || name.ends_with(".ods");
}

bool is_hidden_path(std::string_view path) {
  return std::ranges::any_of(split(path, '/'), [](const std::string& segment) {
    return segment.starts_with('.') || segment == "__MACOSX";
  });
}

}  // namespace headrace
