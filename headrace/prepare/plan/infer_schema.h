#pragma once

/// \file The schema of an input that comes with none: docs/prepare.md, "Schema".

#include "headrace/prepare/map/mapped_source.h"
#include "headrace/prepare/schema/schema.h"
#include "headrace/prepare/source/input.h"

namespace headrace {

/// Looks at the first 1,000 rows of the first slice, as `map` makes them if there is one, and passes over
/// those among them that are rejected. The columns are all that have a value in one of them; what is missing
/// in some is optional. In this order:
///
/// * `split` (in any case), if one of its texts is "train" in some spelling, names the split, and is no
///   feature. Of folders, whatever its texts are, with a map.
/// * `__key__`, WebDataset's, is the string feature `id`.
/// * `id` (in any case) names rows, if each has one and no two the same, and there is no `__key__`.
/// * `label` (in any case), and `cls` of WebDataset, is a label, unless it has lists or numbers with a
///   fraction.
/// * Bytes of JPEGs and PNGs are images, and so are WebDataset's `jpg`, `jpeg`, `png`, by name.
/// * Texts that end in .jpg, .jpeg or .png are images by URI, unless another column has images' bytes: then
///   they are names. "_uri", "_url" or "_path" at the column's end is left out of the feature's name.
/// * Whole numbers are int64, numbers float32. Where one is in brackets or a list: of a fixed shape, if all
///   have as many numbers, 2 at least; else ragged. What is whole, and too large for int64, is text.
/// * Text is a string if it is UTF-8; else, and if it is not known, bytes. So are lists of texts, whatever
///   is in them; of a shape as numbers.
///
/// Of features that would have one name the later column's gets "_2" (or "_3" …) at its end. The result is
/// what `parse_schema` makes of its TOML. Memory: a row, and for each column its name and some hundred bytes;
/// of a cell that is a list of numbers, eight bytes each.
/// \error kInvalidArgument  no row can be read there, no column makes a feature, there are more than 10,000
///                          columns, or one's name is not UTF-8: says what to do
/// \error those of the source  the input cannot be read
Result<Schema> infer_schema(const Input& input, StoreRegistry& stores, std::uint64_t cell_limit_bytes,
                            MapPool* map = nullptr);

}  // namespace headrace
