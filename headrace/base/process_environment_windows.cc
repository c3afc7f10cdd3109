#include <windows.h>
// windows.h must come first.
#include <bcrypt.h>

#include <cstdlib>

#include "headrace/base/environment.h"
#include "headrace/base/windows_text.h"

namespace headrace {

Environment Environment::capture() {
  Environment environment;
  const auto free_block = [](wchar_t* block) { ::FreeEnvironmentStringsW(block); };
  const std::unique_ptr<wchar_t, decltype(free_block)> block(::GetEnvironmentStringsW(), free_block);
  if (!block) return environment;
  for (std::wstring_view entry(block.get()); !entry.empty(); entry = entry.data() + entry.size() + 1) {
    const std::string text = utf8_text(entry);
    const std::size_t equals = text.find('=', 1);  // "=C:=C:\\tmp" is how cmd.exe keeps a drive's folder
    if (equals != std::string::npos)
      environment.variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

std::uint64_t random_name_bits() {
  std::uint64_t bits = 0;
  const NTSTATUS status = ::BCryptGenRandom(nullptr, reinterpret_cast<PUCHAR>(&bits), sizeof bits,
                                            BCRYPT_USE_SYSTEM_PREFERRED_RNG);
  if (!BCRYPT_SUCCESS(status)) std::abort();  // Windows can always supply eight random bytes
  return bits;
}

}  // namespace headrace
