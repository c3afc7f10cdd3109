#pragma once

/// \file Reads requests that a server has logged: PredictionLog messages of TensorFlow Serving. Source:
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

/// The PredictRequest in a PredictionLog. None: it logs a request of another kind, or nothing.
/// \error kInvalidArgument  no well-formed message
Result<std::optional<BytesView>> logged_predict_request(BytesView prediction_log);

/// An input of a request. Views the message.
struct LoggedInput {
  std::string_view name;
  TensorProtoView tensor;
};

/// The inputs of a PredictRequest, ascending by name; of equal names the last.
/// \error kInvalidArgument  no well-formed message
/// \error kDataLoss         as parse_tensor
Result<std::vector<LoggedInput>> inputs_of_request(BytesView predict_request);

/// The elements of a tensor as tf.Examples have them: byte strings, which view the message; whole numbers and
/// booleans as int64; other numbers as float32, the nearest.
using TensorValues = std::variant<std::vector<BytesView>, std::vector<float>, std::vector<std::int64_t>>;

/// If a message has fewer values than its shape has elements, the last one stands for the others, and zero or
/// an empty text if there is none.
/// \error kInvalidArgument  a type without such elements; a content that is not of the shape's size; more
///                          than `elements_max` elements
Result<TensorValues> tensor_values(const TensorProtoView& tensor, std::uint64_t elements_max);

}  // namespace headrace
