#pragma once

/// \file Passes rows through a user's function: docs/prepare.md, "Your own Python".

#include "headrace/prepare/map/map_pool.h"
#include "headrace/prepare/source/input.h"

namespace headrace {

/// Passes each row through the function of `map`. A resulting row has the same id and place, and the
/// function's cells. Or it is ignored ("dropped by map"), or rejected ("map failed", "map took too long",
/// "map's process died", "cell larger than the limit", or with the reasons of shard_writer.h for references).
/// References are fetched before the call. `rows` come from an input of `format`. Borrows `stores` and `map`.
/// Memory: twice 32 MiB of rows and the bytes to which they refer, and a row.
/// \error of `RowSource::next`: as `MapPool::acquire`
std::unique_ptr<RowSource> map_rows(std::unique_ptr<RowSource> rows, InputFormat format,
                                    StoreRegistry& stores, MapPool& map);

}  // namespace headrace
