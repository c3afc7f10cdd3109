#include "headrace/cli/sibling_program.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
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
                      built_without, "; the wheel has it, and so does a build where they are installed")};
}

Error become_program(const std::string& program, std::vector<std::string> words) {
  words[0] = program;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  return {Code::kNotFound, concat("starting ", program, ": ", std::strerror(errno))};
}

}  // namespace headrace
