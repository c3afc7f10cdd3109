#pragma once

/// \file Makes text encoders from their names; encoders.cc holds the only list of kinds.

#include <memory>
#include <string>
#include <string_view>

#include "headrace/base/environment.h"
#include "headrace/engine/encoder.h"
#include "headrace/store/registry.h"

namespace headrace {

/// Where encoders find their weights and models. Borrowed pointers must outlive the encoder.
struct EncoderSources {
  /// Weights of the requested encoder; empty: `encoders_folder`/<name>.
  std::string weights_folder{};
  std::string encoders_folder{};
  /// For saved_model:URL.
  StoreRegistry* stores = nullptr;
  const Environment* environment = nullptr;
};

/// \error kInvalidArgument  no such encoder (the message lists the kinds)
/// \error kNotFound         its weights are not there; the message says how to get them
Result<std::shared_ptr<const TextEncoder>> make_text_encoder(std::string_view name,
                                                             const EncoderSources& sources);

}  // namespace headrace
