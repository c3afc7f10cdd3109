#include <windows.h>
// windows.h comes first.
#include <fcntl.h>
#include <io.h>
#include <shellapi.h>

#include <cstdio>
#include <memory>

#include "examples/read_cache/console.h"
#include "headrace/base/windows_text.h"

// The arguments of main are in the code page of the machine.
std::vector<std::string> open_console(int, char**) {
  ::SetConsoleOutputCP(CP_UTF8);
  ::_setmode(::_fileno(stdout), _O_BINARY);
  int count = 0;
  const auto free_list = [](wchar_t** list) { ::LocalFree(list); };
  const std::unique_ptr<wchar_t*, decltype(free_list)> list(::CommandLineToArgvW(::GetCommandLineW(), &count),
                                                            free_list);
  std::vector<std::string> arguments;
  for (int i = 1; i < count; ++i) arguments.push_back(headrace::utf8_text(list.get()[i]));
  return arguments;
}
