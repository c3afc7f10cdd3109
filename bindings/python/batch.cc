#include "bindings/python/batch.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <span>
#include <utility>

namespace headrace::python {

namespace nb = nanobind;

namespace {

using ArrayShape = std::vector<std::size_t>;

struct HeldBatch {
  Batch batch;
  ProcessMark process;
};

// In a fork's child the pool belongs to threads that do not exist there, so the memory is not freed.
void release(void* held) noexcept {
  auto* batch = static_cast<HeldBatch*>(held);
  if (batch->process.is_here()) delete batch;
}

template <typename T>
nb::object view(const void* values, const ArrayShape& shape, const nb::capsule& owner) {
  auto* typed = const_cast<T*>(static_cast<const T*>(values));
  return nb::cast(nb::ndarray<nb::numpy, T>(typed, shape.size(), shape.data(), owner));
}

nb::object view_numbers(DataType type, const void* values, const ArrayShape& shape,
                        const nb::capsule& owner) {
  switch (type) {
    case DataType::kFloat32:
      return view<float>(values, shape, owner);
    case DataType::kInt64:
      return view<std::int64_t>(values, shape, owner);
    default:
      return view<std::uint8_t>(values, shape, owner);
  }
}

nb::object view_offsets(std::span<const std::int64_t> offsets, std::size_t count, const nb::capsule& owner) {
  return view<std::int64_t>(offsets.data(), {count + 1}, owner);
}

ArrayShape with_rows(std::size_t rows, const ArrayShape& row_shape) {
  ArrayShape shape{rows};
  shape.insert(shape.end(), row_shape.begin(), row_shape.end());
  return shape;
}

std::size_t product(const ArrayShape& shape) {
  std::size_t product = 1;
  for (const std::size_t size : shape) product *= size;
  return product;
}

}  // namespace

BatchConverter::BatchConverter(std::vector<ColumnView> columns)
    : columns_(std::move(columns)),
      ragged_(nb::module_::import_("headrace._src.variable").attr("Ragged")),
      strings_(nb::module_::import_("headrace._src.variable").attr("Strings")) {}

nb::dict BatchConverter::convert(Batch batch, std::size_t rows, const nb::object& weights_name) const {
  auto* held = new HeldBatch{std::move(batch), {}};
  const nb::capsule owner(held, &release);
  nb::dict arrays;
  for (std::size_t i = 0; i < columns_.size(); ++i)
    arrays[columns_[i].name] = column(columns_[i], held->batch.data(i), rows, owner);
  if (!weights_name.is_none()) arrays[weights_name] = view<float>(held->batch.weights(), {rows}, owner);
  return arrays;
}

nb::object BatchConverter::column(const ColumnView& column, const ColumnData& data, std::size_t rows,
                                  const nb::capsule& owner) const {
  const bool is_bytes = column.type == DataType::kBytes;
  if (column.row_shape && !is_bytes)
    return view_numbers(column.type, data.values, with_rows(rows, *column.row_shape), owner);
  if (column.row_shape) {
    const ArrayShape shape = with_rows(rows, *column.row_shape);
    const std::size_t count = product(shape);
    const auto size_bytes = static_cast<std::size_t>(data.byte_offsets[count]);
    return strings_(view<std::uint8_t>(data.values, {size_bytes}, owner),
                    view_offsets(data.byte_offsets, count, owner), nb::tuple(nb::cast(shape)));
  }
  const auto count = static_cast<std::size_t>(data.row_offsets[rows]);
  nb::object values;
  if (is_bytes) {
    const auto size_bytes = static_cast<std::size_t>(data.byte_offsets[count]);
    values = strings_(view<std::uint8_t>(data.values, {size_bytes}, owner),
                      view_offsets(data.byte_offsets, count, owner), nb::make_tuple(count));
  } else {
    values = view_numbers(column.type, data.values, {count}, owner);
  }
  return ragged_(values, view_offsets(data.row_offsets, rows, owner));
}

}  // namespace headrace::python
