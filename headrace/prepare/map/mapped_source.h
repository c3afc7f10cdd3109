#pragma once

/// \file Rows as a user's function makes them: docs/prepare.md, "Own Python".

#include "headrace/prepare/map/map_pool.h"
#include "headrace/prepare/source/input.h"

namespace headrace {

/// What the function of `map` makes of each row: same id, same place, other cells; or ignored ("dropped by
/// map"), or rejected ("map failed", "map took too long", "map's process died", or as shard_writer.h does
/// what a cell refers to). References are followed. `rows` are of an input of that format. Borrows `stores`
/// and `map`.
/// Memory: twice 32 MiB of rows and what they refer to, and a row.
/// \error of `RowSource::next`: as `MapPool::acquire`
std::unique_ptr<RowSource> map_rows(std::unique_ptr<RowSource> rows, InputFormat format,
                                    StoreRegistry& stores, MapPool& map);

}  // namespace headrace
