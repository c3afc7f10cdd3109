#include "headrace/base/windows_text.h"

#include <windows.h>

#include <array>

#include "headrace/base/text.h"

namespace headrace {

std::string utf8_text(std::wstring_view text) {
  std::string out(3 * text.size(), '\0');  // the largest UTF-8 size of a UTF-16 unit
  if (out.empty()) return out;
  const int size = ::WideCharToMultiByte(CP_UTF8, 0, text.data(), static_cast<int>(text.size()), out.data(),
                                         static_cast<int>(out.size()), nullptr, nullptr);
  out.resize(static_cast<std::size_t>(size));
  return out;
}

std::string windows_message(std::uint32_t error_number) {
  std::array<wchar_t, 512> words;
  const DWORD size = ::FormatMessageW(
      FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS | FORMAT_MESSAGE_MAX_WIDTH_MASK, nullptr,
      error_number, 0, words.data(), words.size(), nullptr);
  const std::string text = utf8_text({words.data(), size});
  return concat(std::string_view(text).substr(0, text.find_last_not_of(" .\r\n") + 1), " (error ",
                error_number, " of Windows)");
}

}  // namespace headrace
