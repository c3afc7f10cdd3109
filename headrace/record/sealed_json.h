#pragma once

/// \file The checksum that JSON objects carry as their last key (docs/formats/manifest.md).

#include <string>
#include <string_view>

namespace headrace {

/// Adds `"zz_crc32c"`: eight hexadecimal digits of the CRC32C of the text as it was.
/// REQUIRES: a JSON object that is not empty, its keys sorted and below that one, "}\n" at its end
std::string seal_json(std::string_view object);

/// Whether the text is one that `seal_json` returned. Never fails on other text.
bool is_sealed_json(std::string_view text);

}  // namespace headrace
