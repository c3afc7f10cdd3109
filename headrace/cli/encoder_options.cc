#include "headrace/cli/encoder_options.h"

#include "headrace/base/text.h"

namespace headrace {

EncoderSources encoder_sources(const CommandContext& context, const std::string& weights_folder) {
  const Environment& environment = context.environment;
  EncoderSources sources{
      .weights_folder = weights_folder, .stores = &context.stores, .environment = &environment};
  if (const auto folder = environment.get("HEADRACE_ENCODERS")) {
    sources.encoders_folder = *folder;
  } else {
    sources.encoders_folder = cache_folder(environment).value_or("/.cache/headrace") + "/encoders";
  }
  return sources;
}

}  // namespace headrace
