#include "headrace/engine/tensorflow/python_child.h"

#include "headrace/os/python_program.h"

namespace headrace {

namespace {

const std::pair<std::string, std::string> kVariables[] = {
    {"PYTHONHASHSEED", "0"},       {"KERAS_BACKEND", "tensorflow"}, {"TF_CPP_MIN_LOG_LEVEL", "2"},
    {"TF_DETERMINISTIC_OPS", "1"}, {"TF_ENABLE_ONEDNN_OPTS", "1"},
};

}  // namespace

std::map<std::string, std::string, std::less<>> python_variables(const TraceOptions& options,
                                                                 const Environment& environment) {
  auto variables = variables_with_package(options.package_folder, environment);
  for (const auto& [name, value] : kVariables) variables.insert_or_assign(name, value);
  return variables;
}

Error python_error(std::string_view kind, std::string_view message) {
  const bool is_setup = kind == "tensorflow" || kind == "keras" || kind == "backend";
  return {is_setup ? Code::kFailedPrecondition : Code::kInvalidArgument, std::string(message)};
}

}  // namespace headrace
