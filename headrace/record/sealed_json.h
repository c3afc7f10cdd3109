#pragma once

/// \file The checksum that some JSON objects hold as their last key (docs/formats/manifest.md).

#include <string>
#include <string_view>

namespace headrace {

/// Adds the key "zz_crc32c" with the CRC32C of the original text, in eight hexadecimal digits.
/// REQUIRES: `object` is a JSON object with at least one key, ends in "}\n", and its keys are sorted and less
/// than "zz_crc32c".
std::string seal_json(std::string_view object);

/// True if `seal_json` can have returned the text. Accepts any text.
bool is_sealed_json(std::string_view text);

}  // namespace headrace
