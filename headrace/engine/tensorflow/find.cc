#include <cstdlib>
#include <filesystem>

#include "headrace/base/text.h"
#include "headrace/engine/tensorflow/api.h"
#include "headrace/engine/tensorflow/tensorflow.h"
#include "headrace/os/child_process.h"
#include "headrace/os/python_program.h"

namespace headrace {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLibraryName = "libtensorflow_cc.so.2";
constexpr std::string_view kAdvice =
    "pip install tensorflow-cpu into the Python that HEADRACE_PYTHON names, or set HEADRACE_TENSORFLOW to "
    "the "
    "tensorflow folder of a site-packages";

/// The library in a folder, or at a path that names the file itself.
Result<TensorFlowLibrary> library_at(const fs::path& path, std::string_view named_by) {
  std::error_code ignored;
  const fs::path file = fs::is_directory(path, ignored) ? path / kLibraryName : path;
  if (!fs::is_regular_file(file, ignored)) {
    return Error{Code::kNotFound, concat("TensorFlow is not at ", path.string(), " (from ", named_by,
                                         "): there is no ", kLibraryName, "; ", kAdvice)};
  }
  const fs::path resolved = fs::weakly_canonical(file, ignored);
  return TensorFlowLibrary{resolved.string(), resolved.parent_path().string()};
}

}  // namespace

void set_tensorflow_environment() {
  setenv("TF_DETERMINISTIC_OPS", "1", 1);
  setenv("TF_ENABLE_ONEDNN_OPTS", "1", 1);
  setenv("TF_CPP_MIN_LOG_LEVEL", "2", 0);
  tensorflow::allow_loading();
}

Result<TensorFlowLibrary> find_tensorflow(const std::string& path, const Environment& environment) {
  if (!path.empty()) return library_at(path, "the given option");
  if (const auto named = environment.get("HEADRACE_TENSORFLOW"))
    return library_at(*named, "HEADRACE_TENSORFLOW");
  HEADRACE_TRY(auto interpreter, chosen_python(environment));
  if (!interpreter) interpreter = find_program("python3", environment);
  if (!interpreter)
    return Error{Code::kNotFound, concat("no python3 on PATH to ask for TensorFlow: ", kAdvice)};
  constexpr std::string_view kQuestion =
      "import importlib.util as u; s = u.find_spec('tensorflow'); "
      "print(s.submodule_search_locations[0] if s and s.submodule_search_locations else '')";
  HEADRACE_TRY(const ChildResult child,
               run_child({*interpreter, "-c", std::string(kQuestion)}, environment.variables,
                         {.deadline = std::chrono::seconds(60)}));
  const std::string folder(trim(child.output));
  if (child.exit_status != 0 || folder.empty()) {
    const std::string reason = child.exit_status == 0 ? "" : concat(" (", child.error_tail, ")");
    return Error{Code::kNotFound,
                 concat("TensorFlow is not installed in ", *interpreter, reason, ": ", kAdvice)};
  }
  return library_at(folder, *interpreter);
}

Result<std::string> find_interpreter(const Environment& environment, const std::string& tensorflow_folder) {
  HEADRACE_TRY(const auto chosen, chosen_python(environment));
  if (chosen) return *chosen;
  // <prefix>/lib/python3.11/site-packages/tensorflow
  const fs::path prefix = fs::path(tensorflow_folder).parent_path().parent_path().parent_path().parent_path();
  if (const std::string own = (prefix / "bin" / "python3").string(); is_executable_file(own)) return own;
  if (const auto on_path = find_program("python3", environment)) return *on_path;
  return Error{Code::kNotFound, "no Python interpreter: set HEADRACE_PYTHON to one that has TensorFlow"};
}

}  // namespace headrace
