#include "headrace/cli/tensorflow_engine.h"

#include "headrace/base/text.h"
#include "headrace/cli/own_package.h"

namespace headrace {

Result<OpenEngine> open_engine(const CommandContext& context) {
  OpenEngine out;
  HEADRACE_TRY(out.library, find_tensorflow("", context.environment));
  HEADRACE_TRY(out.engine, open_tensorflow(out.library));
  return out;
}

Result<TraceOptions> trace_options(const CommandContext& context, const OpenEngine& engine) {
  TraceOptions options{.stop = context.stop};
  HEADRACE_TRY(options.interpreter, find_interpreter(context.environment, engine.library.folder));
  HEADRACE_TRY(options.package_folder, own_python_package());
  options.cache_folder = cache_folder(context.environment).value_or("./.cache/headrace") + "/models";
  const std::string version = engine.engine->version();
  options.tensorflow_version = version.substr(version.rfind(' ') + 1);
  return options;
}

}  // namespace headrace
