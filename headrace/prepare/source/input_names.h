#pragma once

/// \file What the names of objects say about their formats.

#include <optional>
#include <string>
#include <string_view>

#include "headrace/prepare/archive/layout.h"
#include "headrace/prepare/source/input.h"

namespace headrace {

/// Of the formats whose rows are the files of a layout.
std::optional<Layout> layout_of(InputFormat format);

/// The format of files that end so, in any case: ".csv", ".tsv", ".jsonl", ".ndjson", ".tfrecord" and
/// "x.tfrecord-00000-of-00010", each also with ".gz"; ".tar", ".tar.gz", ".tgz" are webdataset. None for
/// others.
std::optional<InputFormat> format_of_name(std::string_view name);

/// Whether it ends as a tar or zip does, compressed or not.
bool is_archive_name(std::string_view name);

/// Whether it ends as files of Arrow do: ".parquet", ".feather", ".arrow".
bool is_arrow_name(std::string_view name);

/// Whether a part of the path begins with '.' or is "__MACOSX".
bool is_hidden_path(std::string_view path);

/// "aclimdb, text-folder, …": all formats.
std::string list_input_formats();

}  // namespace headrace
