#pragma once

/// \file Makes text encoders from their names; encoders.cc holds the only list of kinds.

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "headrace/base/environment.h"
#include "headrace/engine/encoder.h"
#include "headrace/engine/engine.h"
#include "headrace/store/registry.h"

namespace headrace {

/// The beginning of the name of an encoder that is a SavedModel; its URL follows.
inline constexpr std::string_view kSavedModelEncoderPrefix = "saved_model:";

/// Where encoders find their weights and models. Borrowed pointers must outlive the encoder.
struct EncoderSources {
  /// The folder with the weights of the requested encoder; empty: `encoders_folder`/<name>.
  std::string weights_folder{};
  std::string encoders_folder{};
  /// To open the URL of a saved_model:URL that is not in `fetched`.
  StoreRegistry* stores = nullptr;
  const Environment* environment = nullptr;
  /// Encoder name → local folder that has the files of its SavedModel already. `engine` loads it from there.
  std::map<std::string, std::string, std::less<>> fetched{};
  Engine* engine = nullptr;
};

/// Makes the encoder with this name. May take seconds: loads weights, or copies and loads a SavedModel.
/// \error kInvalidArgument  there is no such encoder (the message lists the kinds)
/// \error kNotFound         the encoder's weights are missing; the message says how to get them
/// \error *                 as for `load_use_encoder`, `open_tensorflow` and `open_saved_model_encoder`
Result<std::shared_ptr<const TextEncoder>> make_text_encoder(std::string_view name,
                                                             const EncoderSources& sources);

}  // namespace headrace
