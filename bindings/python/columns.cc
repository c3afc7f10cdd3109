#include "bindings/python/columns.h"

#include "bindings/python/choices.h"

namespace headrace::python {

namespace nb = nanobind;

namespace {

DefaultValue default_of(DataType type, const nb::object& fill) {
  if (fill.is_none() || nb::isinstance<nb::tuple>(fill)) return {};
  if (type == DataType::kFloat32) return nb::cast<float>(fill);
  if (type == DataType::kInt64) return nb::cast<std::int64_t>(fill);
  const auto bytes = nb::cast<nb::bytes>(fill);
  return std::string(bytes.c_str(), bytes.size());
}

ColumnView view_of(const ColumnTuple& tuple, const ImageOptions& images) {
  const auto& [name, type, shape, fill, advice] = tuple;
  PyObject* interned = nb::str(name.data(), name.size()).release().ptr();
  PyUnicode_InternInPlace(&interned);
  ColumnView view{.name = nb::steal<nb::str>(interned),
                  .type = batch_columns({column_of(tuple)}, images).front().type};
  if (const auto image = images.columns.find(name); image != images.columns.end()) {
    const ImageSize size = size_in_batch(image->second, images.augmentations);
    view.row_shape = {size.height, size.width, image->second.channels};
  } else if (shape) {
    view.row_shape.emplace(shape->begin(), shape->end());
  }
  return view;
}

}  // namespace

Column column_of(const ColumnTuple& tuple) {
  const auto& [name, type, shape, fill, advice] = tuple;
  Column column{.name = name,
                .type = data_type_of(type),
                .required = fill.is_none(),
                .default_value = default_of(data_type_of(type), fill),
                .advice = advice};
  if (shape) {
    column.length = 1;
    for (const std::uint32_t size : *shape) *column.length *= size;
  }
  return column;
}

std::vector<ColumnView> views_of(const std::vector<ColumnTuple>& columns, const ImageOptions& images) {
  std::vector<ColumnView> views;
  for (const ColumnTuple& column : columns) views.push_back(view_of(column, images));
  return views;
}

}  // namespace headrace::python
