#include "headrace/cli/own_package.h"

#include <filesystem>

#include "headrace/os/python_program.h"

namespace headrace {

Result<std::string> own_python_package() {
  std::error_code ignored;
  return find_python_package(std::filesystem::read_symlink("/proc/self/exe", ignored).string());
}

}  // namespace headrace
