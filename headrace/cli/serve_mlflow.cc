// headrace serve-mlflow: becomes headrace-server, which lies beside this program.

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "headrace/base/text.h"
#include "headrace/cli/serve_mlflow_options.h"
#include "headrace/cli/serve_options.h"
#include "headrace/cli/sibling_program.h"

namespace headrace {
namespace {

Status serve_mlflow(CommandContext& context, const std::vector<std::string>&, const OptionValues&) {
  HEADRACE_TRY(const std::string program,
               find_sibling_program(kServerProgram, "without Boost and simdjson", context.environment));
  std::vector<std::string> words = context.command_line;
  words[0] = program;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  return Error{Code::kNotFound, concat("starting ", program, ": ", std::strerror(errno))};
}

}  // namespace

extern const Command kServeMlflowCommand;
const Command kServeMlflowCommand = {.name = "serve-mlflow",
                                     .summary = kServeMlflowSummary,
                                     .details = kServeMlflowDetails,
                                     .positionals = kServeMlflowPositionals,
                                     .options = kServeMlflowOptions,
                                     .run = serve_mlflow};

}  // namespace headrace
