#pragma once

/// \file Infers the schema of an input that has none: docs/prepare.md, "Schema".

#include <cstdint>
#include <string>
#include <vector>

#include "headrace/prepare/map/mapped_source.h"
#include "headrace/prepare/schema/schema.h"
#include "headrace/prepare/source/input.h"

namespace headrace {

struct InferenceOptions {
  std::uint64_t cell_limit_bytes = kCellLimitBytes;
  MapPool* map = nullptr;  // if set, rows are examined after the map
  CellRules cells{};       // how texts are read; the schema gets these rules
};

struct InferredSchema {
  Schema schema;
  /// Columns that the user may have meant otherwise, with the option that says so: text because of a few
  /// cells, or bytes because of the encoding; a column `split` that names no split; an empty column.
  std::vector<std::string> remarks{};
};

/// Reads rows of up to 16 slices, spread over the input: 64 MiB and 1,000 rows in total, or all that there
/// is; with a map, 1,000 rows. If a file is larger than its share, half of the share is read at its
/// beginning, and, where `open_stretch` can, half in stretches up to its end. Skips rows that are rejected.
/// Uses every column that has a value in one of the rows; a column that some rows lack is optional. The
/// rules, in this order:
///
/// * `split` (in any case) names the split, and is not a feature, if one of its texts is a spelling of
///   "train", or if each is a spelling of "train", "validation" or "test", or DISCARD. The `split` of a
///   layout that passes through a map always names the split.
/// * `__key__`, WebDataset's, is the string feature `id`.
/// * `id` (in any case) names rows if every row has an id, the first 100,000 ids differ, and there is no
///   `__key__`.
/// * `label` (in any case), and `cls` of WebDataset, is a label, unless it has lists or numbers with a
///   fraction.
/// * Bytes of JPEGs and PNGs are images. WebDataset's `jpg`, `jpeg` and `png` are images by their names.
/// * Texts that end in .jpg, .jpeg or .png are URIs of images. If another column has the bytes of images, the
///   texts are only names. The feature's name is the column's name without "_uri", "_url" or "_path" at its
///   end.
/// * Whole numbers are int64, other numbers float32. If one value is in brackets or is a list, the shape is
///   fixed if all have the same count, at least 2; otherwise ragged. A whole number too large for int64 makes
///   the column text.
/// * Text is a string if it is valid in the encoding, otherwise bytes. Content that was not read is a string
///   in WebDataset's `txt`, `text` and `json`, otherwise bytes. Lists of texts are strings or bytes, too,
///   even if they hold numbers; their shape follows the rule for numbers.
///
/// If two features would have the same name, the later column's name gets "_2" (or "_3" …) at its end.
/// `parse_schema` reads the result's TOML as the same schema. Memory: a row or 8 MiB; for each column, its
/// name and some hundred bytes; for a cell that is a list of numbers, eight bytes each; for ids, 8 MiB.
/// \error kInvalidArgument  no row can be read, no column makes a feature, there are more than 10,000
///                          columns, or a column's name is not UTF-8; says what to do
/// \error of the source     the input cannot be read
Result<InferredSchema> infer_schema(const Input& input, StoreRegistry& stores,
                                    const InferenceOptions& options = {});

}  // namespace headrace
