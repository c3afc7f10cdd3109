#include "bindings/python/batch.h"

#include <nanobind/ndarray.h>

namespace headrace::python {

namespace nb = nanobind;

namespace {

struct HeldBatch {
  Batch batch;
  ProcessMark process;
};

// In a fork's child the pool belongs to threads that are not there: the memory is left alone.
void release(void* held) noexcept {
  auto* batch = static_cast<HeldBatch*>(held);
  if (batch->process.is_here()) delete batch;
}

template <typename T>
nb::object view(void* values, std::size_t rows, const std::vector<std::size_t>& row_shape,
                const nb::capsule& owner) {
  std::vector<std::size_t> shape{rows};
  shape.insert(shape.end(), row_shape.begin(), row_shape.end());
  return nb::cast(nb::ndarray<nb::numpy, T>(values, shape.size(), shape.data(), owner));
}

}  // namespace

nb::dict batch_to_dict(Batch batch, const std::vector<ColumnView>& columns, std::size_t rows,
                       const nb::object& weights_name) {
  auto* held = new HeldBatch{std::move(batch), {}};
  const nb::capsule owner(held, &release);
  nb::dict arrays;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const ColumnView& column = columns[i];
    void* values = held->batch.column(i);
    arrays[column.name] = column.type == FeatureType::kInt64
                              ? view<std::int64_t>(values, rows, column.row_shape, owner)
                              : view<float>(values, rows, column.row_shape, owner);
  }
  if (!weights_name.is_none()) arrays[weights_name] = view<float>(held->batch.weights(), rows, {}, owner);
  return arrays;
}

}  // namespace headrace::python
