#pragma once

/// \file The text of a state: docs/formats/mlflow-state.md. Pure functions.

#include <string>
#include <string_view>

#include "headrace/base/json.h"
#include "headrace/track/json_number.h"

namespace headrace::mlflow {

/// A state is no larger.
inline constexpr std::uint64_t kStateBytesMax = 16 << 20;

/// JSON in ASCII, with sorted keys and no white space; numbers as Python's `json.dumps` writes them, so that
/// readers in Python, which write a state again to compare its digest, get the same text.
/// REQUIRES: no number is NaN or infinite
std::string canonical_json(const Json& value);

/// `state`, an object, with `format`, `version` and `zz_sha256`, and a newline.
std::string serialize_state(const Json& state, std::string_view kind);

/// The object without `format`, `version` and `zz_sha256`. `place` is named in errors.
/// \error kDataLoss       no state of that kind, too large, or its checksum is another one
/// \error kUnimplemented  a newer version
Result<Json> parse_state(std::string_view text, std::string_view kind, std::string_view place);

}  // namespace headrace::mlflow
