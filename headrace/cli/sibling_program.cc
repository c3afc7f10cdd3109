#include "headrace/cli/sibling_program.h"

#include <unistd.h>

#include <filesystem>

#include "headrace/base/text.h"
#include "headrace/os/python_program.h"

namespace headrace {

Result<std::string> find_sibling_program(std::string_view name, std::string_view built_without,
                                         const Environment& environment) {
  std::error_code error;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string beside = error ? std::string(name) : (here.parent_path() / name).string();
  if (access(beside.c_str(), X_OK) == 0) return beside;
  if (const auto found = find_program(std::string(name), environment)) return *found;
  return Error{Code::kNotFound,
               concat(name, " is neither at ", beside, " nor on PATH: this Headrace was built ",
                      built_without, "; the wheel has it, and so has a build where they are installed")};
}

}  // namespace headrace
