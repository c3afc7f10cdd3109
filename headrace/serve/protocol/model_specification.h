#pragma once

/// \file TensorFlow Serving's ModelSpec, which its messages name a model and a signature by. Source:
/// tensorflow/serving, apis/model.proto.

#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/base/wire.h"
#include "headrace/serve/protocol/request_path.h"

namespace headrace {

struct ModelSpecification {
  RequestedModel model{};
  std::string signature_name{};  // empty: none is named
};

/// Merges a message into `out`, as protobuf does with a field that comes again.
/// \error kInvalidArgument  no well-formed message; a version that is negative
Status read_model_specification(BytesView message, ModelSpecification& out);
/// \error kInvalidArgument  the model has no name
Status check_model_named(const RequestedModel& model);
/// Writes field `number`. `signature`: empty: left out.
void write_model_specification(WireWriter& writer, std::uint32_t number, std::string_view model,
                               std::int64_t version, std::string_view signature);

}  // namespace headrace
