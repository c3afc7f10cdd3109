#pragma once

/// \file Writes and parses the text of a state: docs/formats/mlflow-state.md. Pure functions.

#include <string>
#include <string_view>

#include "headrace/base/json.h"
#include "headrace/track/json_number.h"

namespace headrace::mlflow {

/// Largest size of a state's text.
inline constexpr std::uint64_t kStateBytesMax = 16 << 20;

/// JSON in ASCII with sorted keys and no white space. Numbers are written as by Python's `json.dumps`: a
/// reader in Python, which writes a state again to compare its digest, gets the same text.
/// REQUIRES: no number is NaN or infinite
std::string canonical_json(const Json& value);

/// The text of `state`, an object: adds `format` (the kind), `version` and `zz_sha256`, and ends with a
/// newline.
std::string serialize_state(const Json& state, std::string_view kind);

/// Parses the text of a state. Returns the object without `format`, `version` and `zz_sha256`. `place` names
/// the state in errors.
/// \error kDataLoss       the text is not a state of this kind, is too large, or has a wrong checksum
/// \error kUnimplemented  the version is newer
Result<Json> parse_state(std::string_view text, std::string_view kind, std::string_view place);

}  // namespace headrace::mlflow
