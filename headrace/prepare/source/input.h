#pragma once

/// \file An input, and how it is cut into slices before it is read.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/prepare/row/row_source.h"
#include "headrace/prepare/source/known_inputs.h"
#include "headrace/prepare/table/row_parser.h"
#include "headrace/prepare/table/table_source.h"
#include "headrace/store/registry.h"

namespace headrace {

/// The formats of inputs in stores. docs/prepare.md, "Rows", describes the rows of each format.
enum class InputFormat : std::uint8_t {
  kAclImdb,
  kTextFolder,
  kImageFolder,
  kTextFiles,
  kImageFiles,
  kCsv,
  kTsv,
  kJsonLines,
  kWebDataset,
  kTfrecord,
  kRequestLog,
  kRows,  // not a format: rows of another kind of input (input_kind.h), which names their columns
};

/// "aclimdb", "text-folder", "image-folder", "text-files", "image-files", "csv", "tsv", "jsonl",
/// "webdataset", "tfrecord", "request-log". For kRows: "rows", which no format has as its name.
std::string_view input_format_name(InputFormat format);
/// \error kInvalidArgument  no format has this name; lists the formats
Result<InputFormat> parse_input_format(std::string_view name);

struct InputFile {
  std::string url;
  std::uint64_t size_bytes = 0;
  std::string version;  // the store's version
  /// Time of the last write, if the store reports it; not in a plan.
  std::optional<std::chrono::system_clock::time_point> modified{};
};

/// The work of one task: whole files, one after another; or, if the objects of a folder are rows, the objects
/// with `after` < key <= `last`. A slice of another kind of input has a name, which is unique in the input,
/// and a place that only its kind understands. Its digest changes if its rows change.
struct Slice {
  std::vector<InputFile> files{};
  std::string after{};  // keys below the folder
  std::string last{};
  std::uint64_t objects = 0;
  std::uint64_t size_bytes = 0;
  /// SHA-256 (hex) over key, size and version of the objects in the range.
  std::string digest{};

  std::string name{};
  std::string place{};

  bool is_range_of_folder() const { return files.empty() && name.empty(); }
};

class InputKind;
const InputKind& stored_input_kind();

struct Input {
  const InputKind* kind = &stored_input_kind();
  InputFormat format = InputFormat::kCsv;
  std::string url;
  std::uint64_t objects = 0;
  std::uint64_t size_bytes = 0;
  /// Changes if the input changes. The store's version of a single object, or a digest over all objects.
  std::string version;
  std::vector<Slice> slices;
  /// Separates a table's columns. 0: the format's own delimiter; a header that seems to have another one is
  /// then an error.
  char delimiter = 0;
};

struct SliceLimits {
  std::uint64_t objects = 65'536;       // the most objects of a folder in a slice
  std::uint64_t size_bytes = 64 << 20;  // the most bytes of files in a slice; a file is never cut
};

/// Lists the input at `location`, which names one of these, tried in this order: an object, which is a table
/// or an archive of the layout's files; a folder, which holds tables or is the layout's folder; or a pattern
/// (store/glob.h). All matches of a pattern are taken; they are archives if the format is a layout. In a
/// folder of tables, the files with the format's endings are taken (input_names.h); with tfrecord, a dataset
/// that Headrace has published contributes its shards.
/// `only`: if not null, objects of a folder or pattern whose URLs it does not have are skipped.
/// Memory: the files of a folder of tables; for a layout's folder, only its slices.
/// \error kNotFound            there is no such object, folder or match
/// \error kInvalidArgument     nothing in the folder has the format
/// \error kFailedPrecondition  a published shard is missing or altered
/// \error of the store
Result<Input> find_input(const Location& location, InputFormat format, const SliceLimits& limits = {},
                         const KnownInputs* only = nullptr);

/// Refuses staged rows (staged_rows.h) that may name files of this machine, unless the rows lie below
/// `output` or on this machine's disk.
/// \error kPermissionDenied  the input has such rows
Status check_staged_rows(const Input& input, const Location& output);

/// Guesses the format from names: from endings, or from how deep the files of a folder lie. A published
/// dataset is tfrecord. Looks at the first 1,000 names of a folder; in a tar or zip, at the first 1,000 names
/// in its first 64 MiB.
/// \param needs_labels  if false, files in folders are text-files or image-files, except those of aclimdb;
///                      and errors say how a model can answer such rows
/// \error kInvalidArgument  the names fit no format, or several; lists the formats
/// \error kNotFound         nothing is there
Result<InputFormat> guess_input_format(const Location& location, bool needs_labels = true);

/// How the tables of a CSV or TSV input are read.
TableOptions table_options(const Input& input, std::uint64_t cell_limit_bytes);

/// The parser of a format whose files are rows one after another: csv, tsv, jsonl, tfrecord, request-log.
/// \error kInvalidArgument  the input has another format
Result<std::unique_ptr<RowParser>> make_row_parser(const Input& input,
                                                   std::uint64_t cell_limit_bytes = kCellLimitBytes);

struct SliceReading {
  std::uint64_t cell_limit_bytes = kCellLimitBytes;
  /// In a folder whose objects are rows, these objects are skipped.
  const KnownInputs* known = nullptr;
  /// In such a folder, objects whose URLs this does not have are skipped, too, as in find_input.
  const KnownInputs* only = nullptr;
  std::stop_token stop{};
};

/// Opens the rows of a slice, as the input's kind does. `stores`, and the objects to which `reading` points,
/// must outlive the source. Ids of rows in archives begin with the archive's name, unless the input is a
/// single object.
/// \error as InputKind::open
/// \error kFailedPrecondition  of `RowSource::next`: a known object has changed since
Result<std::unique_ptr<RowSource>> open_slice(const Input& input, const Slice& slice, StoreRegistry& stores,
                                              const SliceReading& reading = {});

}  // namespace headrace
