#include "headrace/os/python_program.h"

#include <filesystem>

#include "headrace/base/text.h"

namespace headrace {

namespace fs = std::filesystem;

bool is_executable_file(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  constexpr auto kAnyExecute = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
  return fs::is_regular_file(status) && (status.permissions() & kAnyExecute) != fs::perms::none;
}

std::optional<std::string> find_program(const std::string& name, const Environment& environment) {
  if (name.find('/') != std::string::npos) {
    return is_executable_file(name) ? std::optional(name) : std::nullopt;
  }
  for (const std::string& folder :
       split(environment.get("PATH").value_or("/usr/local/bin:/usr/bin:/bin"), ':')) {
    const std::string path = concat(folder, '/', name);
    if (!folder.empty() && is_executable_file(path)) return path;
  }
  return std::nullopt;
}

Result<std::optional<std::string>> chosen_python(const Environment& environment) {
  const auto named = environment.get("HEADRACE_PYTHON");
  if (!named) return std::optional<std::string>{};
  auto found = find_program(*named, environment);
  if (!found)
    return Error{Code::kNotFound, concat("HEADRACE_PYTHON is ", *named, ", which is not a program")};
  return found;
}

Result<std::string> find_python(const Environment& environment) {
  HEADRACE_TRY(const auto chosen, chosen_python(environment));
  if (chosen) return *chosen;
  if (const auto on_path = find_program("python3", environment)) return *on_path;
  return Error{Code::kNotFound, "no Python interpreter: set HEADRACE_PYTHON, or put python3 on PATH"};
}

Result<std::string> find_python_package(const std::string& executable) {
  const fs::path folder = fs::path(executable).parent_path();
  // The package's folder in the build of a checkout, in an installation, and in a wheel, which holds
  // headrace/bin/headrace.
  for (const char* const candidate : {"../python", "../lib/headrace/python", "../.."}) {
    std::error_code ignored;
    const fs::path found = fs::weakly_canonical(folder / candidate, ignored);
    if (fs::exists(found / "headrace" / "__init__.py", ignored)) return found.string();
  }
  return Error{Code::kNotFound,
               concat("the Python package headrace is not found in ", folder.string(), "/../python, ",
                      folder.string(), "/../lib/headrace/python or ", folder.string(), "/../..")};
}

std::map<std::string, std::string, std::less<>> variables_with_package(const std::string& package_folder,
                                                                       const Environment& environment) {
  auto variables = environment.variables;
  const std::string path = environment.get("PYTHONPATH").value_or("");
  variables["PYTHONPATH"] = path.empty() ? package_folder : concat(package_folder, ':', path);
  return variables;
}

}  // namespace headrace
