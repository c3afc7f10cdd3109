#pragma once

/// \file A request to show to people: one that the model answers, or nearly.

#include <string>
#include <string_view>

#include "headrace/serve/signature/served_signature.h"

namespace headrace {

/// A command line with curl for the default signature, or else for the first. `base` is the server's URL.
std::string example_request(std::string_view base, std::string_view model, const ServedModel& served);

}  // namespace headrace
