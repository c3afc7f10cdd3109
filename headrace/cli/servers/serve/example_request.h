#pragma once

/// \file A request to show to people: one that the model answers, or nearly.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/base/json.h"
#include "headrace/serve/signature/served_signature.h"

namespace headrace {

/// Zeros, empty texts and falsehoods for all inputs, as `inputs` of TensorFlow Serving's REST API has them;
/// open dimensions have the size 1. None: an input has more than `elements_max` values, or JSON has no form
/// for it.
std::optional<Json> example_inputs(const ServedSignature& signature, std::uint64_t elements_max);

/// A command line with curl for the default signature, or else for the first. `base` is the server's URL.
std::string example_request(std::string_view base, std::string_view model, const ServedModel& served);

}  // namespace headrace
