#pragma once

/// \file TensorFlow Serving's ModelSpec, by which its messages name a model and a signature. Source:
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

/// Merges an encoded ModelSpec into `out`, as protobuf does with a field that is repeated.
/// \error kInvalidArgument  the message is malformed, or the version is negative
Status read_model_specification(BytesView message, ModelSpecification& out);
/// Checks that the model has a name.
/// \error kInvalidArgument  it has none
Status check_model_named(const RequestedModel& model);
/// Writes a ModelSpec as field `number`. An empty `signature` is left out.
void write_model_specification(WireWriter& writer, std::uint32_t number, std::string_view model,
                               std::int64_t version, std::string_view signature);

}  // namespace headrace
