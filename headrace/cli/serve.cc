// headrace serve: becomes headrace-server-grpc or headrace-server, which lie beside this program.

#include <unistd.h>

#include "headrace/base/text.h"
#include "headrace/cli/serve_manifests.h"
#include "headrace/cli/serve_options.h"
#include "headrace/cli/sibling_program.h"

namespace headrace {
namespace {

Status serve(CommandContext& context, const std::vector<std::string>& arguments,
             const OptionValues& options) {
  HEADRACE_CHECK(check_served(arguments, options));
  if (options.has("print-manifest")) {
    HEADRACE_TRY(const std::string manifest, serve_manifest(arguments, options));
    return context.console.result_bytes(as_bytes(manifest + "\n"));
  }
  HEADRACE_TRY(std::string program,
               find_sibling_program(kServerProgram, "without Boost and simdjson", context.environment));
  const std::string with_grpc = concat(program, kGrpcSuffix);
  if (!options.flag("no-grpc") && access(with_grpc.c_str(), X_OK) == 0) program = with_grpc;
  return become_program(program, context.command_line);
}

}  // namespace

extern const Command kServeCommand;
const Command kServeCommand = {.name = "serve",
                               .summary = kServeSummary,
                               .details = kServeDetails,
                               .positionals = kServePositionals,
                               .options = kServeOptions,
                               .run = serve};

}  // namespace headrace
