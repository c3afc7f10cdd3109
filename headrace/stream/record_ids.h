#pragma once

/// \file The ids that name the records of a dataset.

#include <cstddef>
#include <optional>
#include <string_view>

#include "headrace/record/column.h"
#include "headrace/stream/batch.h"
#include "headrace/stream/dataset.h"

namespace headrace {

/// The column of the ids: the feature that the dataset marks as the id, or otherwise "id", if it is one byte
/// string per record; for WebDataset tars, the key of the sample. None if the dataset has no such ids.
std::optional<Column> id_column(const Dataset& dataset);

/// The id of a row; empty if the row has none. Valid as long as the batch. `column` is the index of
/// `id_column` among the batch's columns.
std::string_view id_of(const Batch& batch, std::size_t column, std::size_t row);

}  // namespace headrace
