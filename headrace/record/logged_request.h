#pragma once

/// \file Reads requests that a server has logged, as PredictionLog messages of TensorFlow Serving. Sources:
/// tensorflow/serving, apis/prediction_log.proto and predict.proto; tensorflow, core/framework/tensor.proto.

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/record/event_reader.h"

namespace headrace {

/// The PredictRequest in a PredictionLog, as a view of it. None if the message logs another kind of request,
/// or nothing.
/// \error kInvalidArgument  not a well-formed message
Result<std::optional<BytesView>> logged_predict_request(BytesView prediction_log);

/// An input of a request. Views the message.
struct LoggedInput {
  std::string_view name;
  TensorProtoView tensor;
};

/// The inputs of a PredictRequest, ascending by name. If a name is repeated, the last input is kept.
/// \error kInvalidArgument  not a well-formed message
/// \error kDataLoss         as for `parse_tensor`
Result<std::vector<LoggedInput>> inputs_of_request(BytesView predict_request);

/// The elements of a tensor in the types of a tf.Example: byte strings, which view the message; whole numbers
/// and booleans as int64 (a larger uint64 wraps); other numbers as the nearest float32.
using TensorValues = std::variant<std::vector<BytesView>, std::vector<float>, std::vector<std::int64_t>>;

/// The elements of a tensor, in row-major order. If the message has fewer values than its shape has elements,
/// its last value is repeated; if it has none, zeros or empty byte strings are used.
/// \error kInvalidArgument  no tf.Example has the tensor's type; its rank is unknown; it has more values than
///                          its shape, or a content of another size; or more than `elements_max` elements
Result<TensorValues> tensor_values(const TensorProtoView& tensor, std::uint64_t elements_max);

}  // namespace headrace
