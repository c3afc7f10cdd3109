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

/// The name of an encoder that is a SavedModel begins so; its URL follows.
inline constexpr std::string_view kSavedModelEncoderPrefix = "saved_model:";

/// Where encoders find their weights and models. Borrowed pointers must outlive the encoder.
struct EncoderSources {
  /// Weights of the requested encoder; empty: `encoders_folder`/<name>.
  std::string weights_folder{};
  std::string encoders_folder{};
  /// For saved_model:URL.
  StoreRegistry* stores = nullptr;
  const Environment* environment = nullptr;
  /// Local folders with the files of such encoders, by their names; loaded from there, by `engine`.
  std::map<std::string, std::string, std::less<>> fetched{};
  Engine* engine = nullptr;
};

/// \error kInvalidArgument  no such encoder (the message lists the kinds)
/// \error kNotFound         its weights are not there; the message says how to get them
Result<std::shared_ptr<const TextEncoder>> make_text_encoder(std::string_view name,
                                                             const EncoderSources& sources);

}  // namespace headrace
