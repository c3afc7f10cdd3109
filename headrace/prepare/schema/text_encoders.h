#pragma once

/// \file The loaded encoders that a schema names.

#include <map>
#include <memory>
#include <string>

namespace headrace {

class TextEncoder;  // engine/encoder.h

/// Name as in the schema → encoder.
using TextEncoders = std::map<std::string, std::shared_ptr<const TextEncoder>>;

}  // namespace headrace
