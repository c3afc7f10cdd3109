#pragma once

/// \file Makes an example request to show to people, which the model answers, or nearly.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/base/json.h"
#include "headrace/serve/signature/served_signature.h"

namespace headrace {

/// Example values for all inputs, in the form `inputs` of TensorFlow Serving's REST API: zeros, empty texts
/// and false. Open dimensions have the size 1. None if an input has more than `elements_max` values, or JSON
/// has no form for it.
std::optional<Json> example_inputs(const ServedSignature& signature, std::uint64_t elements_max);

/// A command line with curl for the default signature, or else the first one. `base`: the server's URL.
std::string example_request(std::string_view base, std::string_view model, const ServedModel& served);

}  // namespace headrace
