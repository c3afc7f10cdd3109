#pragma once

/// \file Texts of Windows, which are UTF-16, as UTF-8. For files that are built for Windows alone.

#include <cstdint>
#include <string>
#include <string_view>

namespace headrace {

/// With U+FFFD for half of a pair.
std::string utf8_text(std::wstring_view text);

/// The system's words for an error number, in the user's language, and the number.
std::string windows_message(std::uint32_t error_number);

}  // namespace headrace
