#include "headrace/stream/record_weights.h"

#include <cmath>

#include "headrace/base/text.h"

namespace headrace {
namespace {

double weight_of(const TensorView& values, std::size_t row) {
  if (values.type == DataType::kInt64)
    return static_cast<double>(static_cast<const std::int64_t*>(values.data)[row]);
  return static_cast<double>(static_cast<const float*>(values.data)[row]);
}

}  // namespace

Status check_record_weights(const ModelFeature& weights, const TensorView& values, const Batch& batch,
                            const BatchLoader& loader) {
  for (std::size_t row = 0; row < batch.rows; ++row) {
    const double weight = weight_of(values, row);
    if (batch.weights()[row] == 0 || (weight >= 0 && std::isfinite(weight))) continue;
    return Error{Code::kInvalidArgument,
                 concat("the weight ", weights.name, " of ", describe_record(loader, batch, row), " is ",
                        weight, "; weights are finite and not below 0")};
  }
  return {};
}

}  // namespace headrace
