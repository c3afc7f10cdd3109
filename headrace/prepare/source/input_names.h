#pragma once

/// \file Finds formats from the names of objects.

#include <optional>
#include <string>
#include <string_view>

#include "headrace/prepare/archive/layout.h"
#include "headrace/prepare/source/input.h"

namespace headrace {

/// The layout of a format whose rows are files of a layout; nullopt for other formats.
std::optional<Layout> layout_of(InputFormat format);

/// The format of a file with this name; nullopt if the name fits none. The endings, in any case, are ".csv",
/// ".tsv", ".jsonl", ".ndjson", ".tfrecord" and "x.tfrecord-00000-of-00010", each also with ".gz"; and
/// ".tar", ".tar.gz" and ".tgz" for webdataset.
std::optional<InputFormat> format_of_name(std::string_view name);

/// True if the name has the ending of a tar or zip, compressed or not.
bool is_archive_name(std::string_view name);

/// True if the name has the ending of an Arrow file: ".parquet", ".feather", ".arrow".
bool is_arrow_name(std::string_view name);

/// True if the path names a spreadsheet workbook, which Headrace does not read.
bool is_workbook_name(std::string_view path);

/// True if a part of the path begins with '.' or is "__MACOSX".
bool is_hidden_path(std::string_view path);

/// The names of all formats: "aclimdb, text-folder, …".
std::string list_input_formats();

}  // namespace headrace
