// headrace serve-mlflow: becomes headrace-server, which lies beside this program.

#include "headrace/cli/serve_mlflow_options.h"
#include "headrace/cli/serve_options.h"
#include "headrace/cli/sibling_program.h"

namespace headrace {
namespace {

Status serve_mlflow(CommandContext& context, const std::vector<std::string>&, const OptionValues&) {
  HEADRACE_TRY(const std::string program,
               find_sibling_program(kServerProgram, "without Boost and simdjson", context.environment));
  return become_program(program, context.command_line);
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
