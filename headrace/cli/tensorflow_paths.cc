#include <filesystem>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/own_package.h"
#include "headrace/os/child_process.h"
#include "headrace/os/python_program.h"

namespace headrace {
namespace {

// The Python package does the work, because the interpreter knows where its packages lie.
Status run_in_python(CommandContext& context, const char* action) {
  HEADRACE_TRY(const std::string interpreter, find_python(context.environment));
  HEADRACE_TRY(const std::string package_folder, own_python_package());
  const auto variables = variables_with_package(package_folder, context.environment);
  std::error_code ignored;
  const std::string folder = std::filesystem::weakly_canonical(package_folder, ignored).string();
  HEADRACE_TRY(const ChildResult done,
               run_child({interpreter, "-m", "headrace._src.enable_tensorflow", action, folder}, variables,
                         {.stop = context.stop}));
  if (done.exit_status != 0) return Error{Code::kFailedPrecondition, std::string(trim(done.error_tail))};
  const Json told = parse_json(done.output).value_or(Json());
  if (!told.is_object()) return Error{Code::kInternal, concat(interpreter, " said ", done.output)};
  const bool is_enabled = told["enabled"] == true;
  const auto text_of = [&](const char* name) { return told[name].is_string() ? told[name].text() : ""; };
  context.console.result(
      context.console.json()
          ? told.dump()
          : concat(told.contains("python") ? text_of("python") : interpreter, ": TensorFlow accepts ",
                   is_enabled ? "store URLs as paths, through " : "only its own paths: ", text_of("file"),
                   is_enabled ? "" : " does not exist"));
  return {};
}

Status run_enable(CommandContext& context, const std::vector<std::string>&, const OptionValues&) {
  return run_in_python(context, "enable");
}
Status run_disable(CommandContext& context, const std::vector<std::string>&, const OptionValues&) {
  return run_in_python(context, "disable");
}
Status run_status(CommandContext& context, const std::vector<std::string>&, const OptionValues&) {
  return run_in_python(context, "status");
}

}  // namespace

extern const Command kTensorflowEnableCommand;
const Command kTensorflowEnableCommand = {
    .name = "tensorflow enable",
    .summary = "Let all programs of a Python environment use store URLs as TensorFlow paths",
    .details =
        "Writes headrace-tensorflow.pth beside the environment's packages: whenever TensorFlow is imported "
        "there, it gets a file system for each scheme, as `import headrace.tensorflow` does for one program. "
        "Nothing is imported before that. The environment is that of HEADRACE_PYTHON, else of python3.\n"
        "  headrace tensorflow enable\n"
        "  python3 -c 'import tensorflow as tf; print(tf.io.gfile.listdir(\"s3://datasets\"))'",
    .positionals = {},
    .options = {},
    .run = run_enable};

extern const Command kTensorflowDisableCommand;
const Command kTensorflowDisableCommand = {
    .name = "tensorflow disable",
    .summary = "Undo `headrace tensorflow enable`",
    .details =
        "Removes headrace-tensorflow.pth. Running programs keep their file systems.\n"
        "  headrace tensorflow disable",
    .positionals = {},
    .options = {},
    .run = run_disable};

extern const Command kTensorflowStatusCommand;
const Command kTensorflowStatusCommand = {
    .name = "tensorflow status",
    .summary = "Show whether `headrace tensorflow enable` is in effect",
    .details =
        "Names the Python that it asked: HEADRACE_PYTHON, else python3.\n"
        "  headrace tensorflow status",
    .positionals = {},
    .options = {},
    .run = run_status};

}  // namespace headrace
