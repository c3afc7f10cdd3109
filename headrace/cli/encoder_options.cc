#include "headrace/cli/encoder_options.h"

#include "headrace/base/text.h"

namespace headrace {

EncoderSources encoder_sources(const CommandContext& context, const std::string& weights_folder) {
  const Environment& environment = context.environment;
  EncoderSources sources{
      .weights_folder = weights_folder, .stores = &context.stores, .environment = &environment};
  if (const auto folder = environment.get("HEADRACE_ENCODERS")) {
    sources.encoders_folder = *folder;
  } else if (const auto cache = environment.get("XDG_CACHE_HOME")) {
    sources.encoders_folder = *cache + "/headrace/encoders";
  } else {
    sources.encoders_folder = environment.get("HOME").value_or("") + "/.cache/headrace/encoders";
  }
  return sources;
}

Result<std::shared_ptr<const TextEncoder>> encoder_from(const CommandContext& context,
                                                        const OptionValues& values) {
  return make_text_encoder(values.text("encoder"), encoder_sources(context, values.text("encoder-weights")));
}

}  // namespace headrace
