#pragma once

/// \file UTF-8 from Windows' texts, which are UTF-16. For files that are built for Windows only.

#include <cstdint>
#include <string>
#include <string_view>

namespace headrace {

/// Converts UTF-16 to UTF-8. An unpaired surrogate becomes U+FFFD.
std::string utf8_text(std::wstring_view text);

/// The system's message for an error number, in the user's language, followed by the number.
std::string windows_message(std::uint32_t error_number);

}  // namespace headrace
