#include <algorithm>
#include <map>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/prepare/archive/archive_source.h"
#include "headrace/prepare/archive/webdataset_source.h"
#include "headrace/prepare/source/folder_digest.h"
#include "headrace/prepare/source/folder_source.h"
#include "headrace/prepare/source/input_kind.h"
#include "headrace/prepare/source/input_names.h"
#include "headrace/prepare/table/json_lines_source.h"
#include "headrace/prepare/table/record_source.h"
#include "headrace/prepare/table/staged_rows.h"
#include "headrace/store/glob.h"
#include "headrace/track/published_folder.h"

namespace headrace {
namespace {

constexpr std::string_view kLooking = "looking at the input";

Error not_there(const Location& location) {
  return {Code::kNotFound, concat("there is no object and no folder at ", location.describe(),
                                  "; check the URL with headrace ls")};
}

// Cuts the objects of a folder into slices, each a range of keys.
class FolderCutter {
 public:
  FolderCutter(const Location& location, InputFormat format, std::uint64_t slice_objects)
      : prefix_bytes_(folder_prefix(location.key).size()),
        layout_(*layout_of(format)),
        slice_objects_(std::max<std::uint64_t>(slice_objects, 1)) {
    input_.format = format;
    input_.url = location.url.text();
  }

  void add(const ObjectInfo& object) {
    const std::string_view path = std::string_view(object.key).substr(prefix_bytes_);
    if (slice_.objects == slice_objects_) end_slice();
    if (first_path_.empty()) first_path_ = path;
    has_examples_ = has_examples_ || classify_path(layout_, path).verdict == PathVerdict::kExample;
    slice_.last = path;
    ++slice_.objects;
    slice_.size_bytes += object.size_bytes;
    slice_digest_.add(object);
    digest_.add(object);
  }

  // REQUIRES: an object was added
  Result<Input> finish(const Location& location) {
    end_slice();
    if (!has_examples_) {
      return Error{Code::kInvalidArgument,
                   concat("none of the ", input_.objects, " objects in ", location.describe(),
                          " has the format ", input_format_name(input_.format),
                          ", whose files lie in <split>/<label>/ or <label>/; the first object is ",
                          first_path_, ". Name another folder or another format: ", list_input_formats())};
    }
    input_.version = digest_.finish();
    return std::move(input_);
  }

 private:
  void end_slice() {
    slice_.digest = std::exchange(slice_digest_, FolderDigest()).finish();
    input_.objects += slice_.objects;
    input_.size_bytes += slice_.size_bytes;
    input_.slices.push_back(slice_);
    slice_ = Slice{.after = slice_.last};
  }

  const std::size_t prefix_bytes_;
  const Layout layout_;
  const std::uint64_t slice_objects_;
  Input input_;
  Slice slice_;
  FolderDigest slice_digest_;
  FolderDigest digest_;
  bool has_examples_ = false;
  std::string first_path_;
};

std::string url_of(const Location& location, const ObjectInfo& object) {
  Url url = location.url;
  url.path = object.key;
  return url.text();
}

// Lists the folder of a layout; none if nothing lies below it.
Result<std::optional<Input>> find_layout_folder(const Location& location, InputFormat format,
                                                const SliceLimits& limits, const KnownInputs* only) {
  FolderCutter cutter(location, format, limits.objects);
  bool is_there = false;
  const std::string prefix = folder_prefix(location.key);
  HEADRACE_CHECK(location.store->list(prefix, {}, [&](const ObjectInfo& object) {
    // folder_source.cc forms the URL of an object in the same way.
    const std::string url =
        concat(location.url.text(), '/', std::string_view(object.key).substr(prefix.size()));
    if (only != nullptr && !only->has(url)) return true;
    cutter.add(object);
    return is_there = true;
  }));
  if (!is_there) return std::optional<Input>();
  HEADRACE_TRY(Input input, cutter.finish(location));
  return std::optional(std::move(input));
}

// Puts successive files into slices of about the same size.
Input input_of_files(const Location& location, InputFormat format, const std::vector<ObjectInfo>& objects,
                     const SliceLimits& limits) {
  Input input{.format = format, .url = location.url.text()};
  FolderDigest digest;
  // The names of staged parts have digests in them, so parts that are staged again have the same names.
  const bool is_staged = is_staged_folder(location.key);
  for (const ObjectInfo& object : objects) {
    const bool fits = !input.slices.empty() && input.slices.back().size_bytes <= limits.size_bytes &&
                      object.size_bytes <= limits.size_bytes - input.slices.back().size_bytes;
    if (!fits) input.slices.emplace_back();
    Slice& slice = input.slices.back();
    slice.files.push_back(
        {url_of(location, object), object.size_bytes, object.version.token, object.modified});
    ++slice.objects;
    slice.size_bytes += object.size_bytes;
    ++input.objects;
    input.size_bytes += object.size_bytes;
    digest.add(is_staged ? ObjectInfo{.key = object.key, .size_bytes = object.size_bytes} : object);
  }
  const bool is_object = objects.size() == 1 && objects.front().key == location.key;
  input.version = is_object ? objects.front().version.token : digest.finish();
  return input;
}

// Returns the shards of a published dataset, ascending by key.
Result<std::vector<ObjectInfo>> find_shards(const PublishedFolder& published) {
  const Location& folder = published.folder;
  std::map<std::string, std::uint64_t> sizes;
  for (const ManifestPart& part : published.manifest.parts) {
    if (part.role == "shard") sizes[join_key(folder.key, part.key)] = part.size_bytes;
  }
  std::vector<ObjectInfo> shards;
  HEADRACE_CHECK(folder.store->list(folder_prefix(folder.key), {}, [&](const ObjectInfo& object) {
    const auto shard = sizes.find(object.key);
    if (shard == sizes.end() || shard->second != object.size_bytes) return true;
    shards.push_back(object);
    sizes.erase(shard);
    return true;
  }));
  if (sizes.empty()) return shards;
  return Error{
      Code::kFailedPrecondition,
      concat("the shard ", folder.store->describe(sizes.begin()->first),
             " of the dataset is missing or was altered after it was published; prepare that dataset again")};
}

// Returns the files below a folder whose names have the format; none if nothing lies there.
Result<std::vector<ObjectInfo>> find_files_below(const Location& location, InputFormat format) {
  if (format == InputFormat::kTfrecord) {
    HEADRACE_TRY(const auto published, read_published(location, "dataset"));
    if (published) return find_shards(*published);
  }
  const std::string prefix = folder_prefix(location.key);
  // Names do not show whether records are examples or requests.
  const InputFormat named = format == InputFormat::kRequestLog ? InputFormat::kTfrecord : format;
  std::vector<ObjectInfo> files;
  std::string first_other;
  HEADRACE_CHECK(location.store->list(prefix, {}, [&](const ObjectInfo& object) {
    const std::string_view path = std::string_view(object.key).substr(prefix.size());
    if (!is_hidden_path(path) && format_of_name(path) == named) {
      files.push_back(object);
    } else if (first_other.empty()) {
      first_other = path;
    }
    return true;
  }));
  if (!files.empty() || first_other.empty()) return files;
  return Error{
      Code::kInvalidArgument,
      concat("no object in ", location.describe(), " has an ending of the format ", input_format_name(format),
             "; the first object is ", first_other,
             ". Name the object itself, a pattern like *.txt, or another format: ", list_input_formats())};
}

// Returns the object with exactly that name; none if there is none.
Result<std::optional<ObjectInfo>> find_object(const Location& location) {
  if (location.key.empty()) return std::optional<ObjectInfo>();
  auto object = location.store->stat(location.key, {});
  if (object) return std::optional(*std::move(object));
  // The name of an object may look like a pattern.
  if (object.error().code == Code::kNotFound || is_pattern(location.key)) return std::optional<ObjectInfo>();
  return object.error().in(kLooking);
}

Result<std::vector<ObjectInfo>> find_matches(const Location& location) {
  HEADRACE_TRY(std::vector<ObjectInfo> found, find_objects(*location.store, location.key, {}));
  const std::size_t folder_bytes = folder_prefix(literal_folder(location.key)).size();
  std::erase_if(found, [&](const ObjectInfo& object) {
    return is_hidden_path(std::string_view(object.key).substr(folder_bytes));
  });
  if (!found.empty()) return found;
  return Error{Code::kNotFound,
               concat("no object matches the pattern ", location.describe(), "; check it with headrace ls")};
}

// Returns a name for a file that is unique in the input.
std::string name_in_input(const Location& input, std::string_view key) {
  const std::string folder = folder_prefix(input.key);
  if (key.starts_with(folder)) return std::string(key.substr(folder.size()));
  if (key == input.key) return std::string(last_segment(key));
  return std::string(key.substr(std::min(key.size(), folder_prefix(literal_folder(input.key)).size())));
}

Result<std::vector<SourceFile>> open_files(const Location& input, const Slice& slice, StoreRegistry& stores) {
  std::vector<SourceFile> files;
  for (const InputFile& file : slice.files) {
    HEADRACE_TRY(Location location, stores.open(file.url));
    std::string name = name_in_input(input, location.key);
    files.push_back({std::move(location), file.size_bytes, Version{file.version}, std::move(name)});
  }
  return files;
}

}  // namespace

Result<Input> find_input(const Location& location, InputFormat format, const SliceLimits& limits,
                         const KnownInputs* only) {
  HEADRACE_TRY(const std::optional<ObjectInfo> object, find_object(location));
  if (object) return input_of_files(location, format, {*object}, limits);
  const auto is_other = [&](const ObjectInfo& each) {
    return only != nullptr && !only->has(url_of(location, each));
  };
  if (layout_of(format)) {
    auto input = find_layout_folder(location, format, limits, only);
    if (!input) return input.error().in(kLooking);
    if (*input) return **std::move(input);
  } else {
    auto files = find_files_below(location, format);
    if (!files) return files.error().in(kLooking);
    std::erase_if(*files, is_other);
    if (!files->empty()) return input_of_files(location, format, *files, limits);
  }
  if (!is_pattern(location.key)) return not_there(location);
  auto matches = find_matches(location);
  if (!matches) return matches.error().in(kLooking);
  std::erase_if(*matches, is_other);
  return input_of_files(location, format, *matches, limits);
}

Status check_staged_rows(const Input& input, const Location& output) {
  Url own = output.url;
  own.path = join_key(output.key, concat(kStagedFolder, "/"));
  for (const Slice& slice : input.slices) {
    for (const InputFile& file : slice.files) {
      const std::optional<StagedPart> staged = staged_part(file.url);
      const bool is_trusted = !staged || staged->is_from_store || scheme_of(file.url) == "file" ||
                              file.url.starts_with(own.text());
      if (is_trusted) continue;
      return Error{Code::kPermissionDenied,
                   concat(file.url,
                          " belongs to the staged input of another dataset, and may name files of this "
                          "machine; prepare its original source")};
    }
  }
  return {};
}

TableOptions table_options(const Input& input, std::uint64_t cell_limit_bytes) {
  const char usual = input.format == InputFormat::kTsv ? '\t' : ',';
  return {.delimiter = input.delimiter != 0 ? input.delimiter : usual,
          .is_certain = input.delimiter != 0,
          .cell_limit_bytes = cell_limit_bytes};
}

namespace {

class StoredInputs final : public InputKind {
 public:
  std::string_view name() const override { return "stored"; }

  Result<Input> find(const InputPlace& place, const InputRequest& request) const override {
    std::optional<InputFormat> format = request.format;
    if (!format) {
      HEADRACE_TRY(format, guess_input_format(*place.location));
    }
    return find_input(*place.location, *format, request.limits, request.only);
  }

  Result<std::unique_ptr<RowSource>> open(const Input& input, const Slice& slice, StoreRegistry& stores,
                                          const SliceReading& reading) const override {
    HEADRACE_TRY(const Location location, stores.open(input.url));
    const auto layout = layout_of(input.format);
    if (layout && slice.is_range_of_folder()) {
      return open_folder_range(location, *layout, slice, reading.cell_limit_bytes, reading.known,
                               reading.only);
    }
    HEADRACE_TRY(std::vector<SourceFile> files, open_files(location, slice, stores));
    const bool is_object = slice.files.size() == 1 && slice.files.front().url == input.url;
    const ArchiveOptions options{.cell_limit_bytes = reading.cell_limit_bytes, .names_archives = !is_object};
    if (layout) return open_archive_source(std::move(files), *layout, options);
    switch (input.format) {
      case InputFormat::kWebDataset:
        return open_webdataset(std::move(files), options);
      case InputFormat::kJsonLines:
        return open_json_lines(std::move(files), reading.cell_limit_bytes);
      case InputFormat::kTfrecord:
        return open_records(std::move(files), reading.cell_limit_bytes);
      case InputFormat::kRequestLog:
        return open_request_log(std::move(files), reading.cell_limit_bytes);
      default:
        return open_table(std::move(files), table_options(input, reading.cell_limit_bytes));
    }
  }
};

}  // namespace

const InputKind& stored_input_kind() {
  static const StoredInputs kind;
  return kind;
}

Result<std::unique_ptr<RowSource>> open_slice(const Input& input, const Slice& slice, StoreRegistry& stores,
                                              const SliceReading& reading) {
  return input.kind->open(input, slice, stores, reading);
}

Result<std::unique_ptr<RowParser>> make_row_parser(const Input& input, std::uint64_t cell_limit_bytes) {
  switch (input.format) {
    case InputFormat::kCsv:
    case InputFormat::kTsv:
      return make_table_parser(table_options(input, cell_limit_bytes));
    case InputFormat::kJsonLines:
      return make_json_lines_parser(cell_limit_bytes);
    case InputFormat::kTfrecord:
      return make_record_parser(cell_limit_bytes);
    case InputFormat::kRequestLog:
      return make_request_log_parser(cell_limit_bytes);
    default:
      return Error{
          Code::kInvalidArgument,
          concat("rows of a stream are jsonl, csv, tsv, tfrecord or request-log, not ", input_name(input))};
  }
}

}  // namespace headrace
