#pragma once

/// \file What an input consists of, and how it is cut into slices, before any of it is read.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/prepare/row/row_source.h"
#include "headrace/prepare/source/known_inputs.h"
#include "headrace/store/registry.h"

namespace headrace {

/// docs/prepare.md, "Rows", says what a row of each is.
enum class InputFormat : std::uint8_t {
  kAclImdb,
  kTextFolder,
  kImageFolder,
  kCsv,
  kTsv,
  kJsonLines,
  kWebDataset,
  kTfrecord,
};

/// "aclimdb", "text-folder", "image-folder", "csv", "tsv", "jsonl", "webdataset", "tfrecord".
std::string_view input_format_name(InputFormat format);
/// \error kInvalidArgument  no such format; lists them
Result<InputFormat> parse_input_format(std::string_view name);

struct InputFile {
  std::string url;
  std::uint64_t size_bytes = 0;
  std::string version;  // the store's
};

/// What one task reads: files, whole, one after another; or of a folder whose objects are rows, those with
/// `after` < key <= `last`.
struct Slice {
  std::vector<InputFile> files{};
  std::string after{};  // keys below the folder
  std::string last{};
  std::uint64_t objects = 0;
  std::uint64_t size_bytes = 0;
  /// SHA-256 (hex) over key, size and version of the objects between.
  std::string digest{};

  bool is_range_of_folder() const { return files.empty(); }
};

struct Input {
  InputFormat format = InputFormat::kCsv;
  std::string url;
  std::uint64_t objects = 0;
  std::uint64_t size_bytes = 0;
  /// Tells whether it is the same another time: the store's version of an object; of a folder, a digest.
  std::string version;
  std::vector<Slice> slices;
};

struct SliceLimits {
  std::uint64_t objects = 65'536;       // of a folder, in a slice
  std::uint64_t size_bytes = 64 << 20;  // of files; one file is never cut
};

/// Lists the input. An object is an archive of the layout's files, or a table; a prefix with objects below it
/// is a folder of such files; or, of the layouts, the folder itself. Of a folder, those files are taken whose
/// endings are the format's (input_names.h); as tfrecord, of what Headrace has published, the shards. What is
/// neither may be a pattern (store/glob.h), all of whose matches are taken, of a layout as archives.
/// Memory: the files of a table's folder; of a layout's folder only where its slices begin.
/// \error kNotFound         neither is there
/// \error kInvalidArgument  nothing in it is of the format
/// \error kFailedPrecondition  a published shard is missing or altered
Result<Input> find_input(const Location& location, InputFormat format, const SliceLimits& limits = {});

/// Staged rows may name files of the machine that staged them (staged_rows.h), so none are taken from another
/// place in a store.
/// \error kPermissionDenied  the input has such rows, and they do not lie below `output`
Status check_staged_rows(const Input& input, const Location& output);

/// The format that names tell: endings, or how deep a folder's files lie; looks at the first 1,000 of them.
/// Of a tar or zip, those of its files, up to the one at its 64th MiB.
/// \error kInvalidArgument  they tell none, or several; says what can be named
/// \error kNotFound
Result<InputFormat> guess_input_format(const Location& location);

/// `stores` and `known` must outlive the source. Ids of rows in archives begin with the archive's name,
/// unless the input is that one object. Of a folder whose objects are rows, those in `known` are passed over.
/// \error kFailedPrecondition  one of them has changed since
Result<std::unique_ptr<RowSource>> open_slice(const Input& input, const Slice& slice, StoreRegistry& stores,
                                              std::uint64_t cell_limit_bytes = kCellLimitBytes,
                                              const KnownInputs* known = nullptr);

}  // namespace headrace
