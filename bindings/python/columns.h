#pragma once

/// \file Columns of batches as Python gives them.

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/python/batch.h"
#include "headrace/record/example_decoder.h"
#include "headrace/stream/image_options.h"

namespace headrace::python {

/// Name, element type, shape of a row (none: ragged), what fills an absent feature (None: that is an error;
/// an empty tuple: an empty row), what to do about one (ends that error).
using ColumnTuple = std::tuple<std::string, std::string, std::optional<std::vector<std::uint32_t>>,
                               nanobind::object, std::string>;

Column column_of(const ColumnTuple& tuple);
/// How a batch's columns are handed out.
std::vector<ColumnView> views_of(const std::vector<ColumnTuple>& columns, const ImageOptions& images);

}  // namespace headrace::python
