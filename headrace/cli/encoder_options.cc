#include "headrace/cli/encoder_options.h"

#include "headrace/base/text.h"
#include "headrace/evaluate/predictor.h"

namespace headrace {

EncoderSources encoder_sources(const Environment& environment, StoreRegistry& stores,
                               const std::string& weights_folder) {
  EncoderSources sources{.weights_folder = weights_folder, .stores = &stores, .environment = &environment};
  if (const auto folder = environment.get("HEADRACE_ENCODERS")) {
    sources.encoders_folder = *folder;
  } else {
    sources.encoders_folder = cache_folder(environment).value_or("/.cache/headrace") + "/encoders";
  }
  return sources;
}

Result<TextEncoders> encoders_of(const std::map<std::string, EncoderDescription>& of_features,
                                 const EncoderSources& sources) {
  TextEncoders out;
  for (const auto& [feature, wanted] : of_features) {
    if (const auto made = out.find(wanted.name); made != out.end()) {
      HEADRACE_CHECK(check_encoder(wanted, *made->second));
      continue;
    }
    HEADRACE_TRY(std::shared_ptr<const TextEncoder> encoder, make_text_encoder(wanted.name, sources));
    HEADRACE_CHECK(check_encoder(wanted, *encoder));
    out.emplace(wanted.name, std::move(encoder));
  }
  return out;
}

}  // namespace headrace
