#pragma once

/// \file The encoder saved_model:URL, for example a model from TensorFlow Hub. It is a SavedModel with a
/// signature that takes string[n] and returns float[n, dimension].

#include <memory>
#include <string>

#include "headrace/base/result.h"
#include "headrace/engine/encoder.h"
#include "headrace/engine/engine.h"
#include "headrace/store/location.h"

namespace headrace {

struct SavedModelEncoderOptions {
  /// Empty: serving_default if it fits, otherwise the only signature that fits.
  std::string signature{};
  /// The folder to which the model is copied (StagedFolder) while it is loaded.
  std::string temporary_folder;
  /// The largest model, as the size of all its files.
  std::uint64_t size_limit_bytes = std::uint64_t{16} << 30;
};

/// Copies the model from its store and loads it. The encoder's `name()` is "saved_model:" and the URL. Its
/// digest covers the names, sizes and contents of all files. Each text is encoded in a run of its own, on one
/// thread; otherwise its vector would depend on the other texts. A signature with several text inputs, or
/// none, does not fit. Borrows `engine` during the call only.
/// \error kNotFound         there is no SavedModel at the location
/// \error kInvalidArgument  no single signature turns texts into vectors; the message lists the signatures
Result<std::unique_ptr<TextEncoder>> open_saved_model_encoder(Engine& engine, const Location& model,
                                                              const SavedModelEncoderOptions& options);

/// Does the same for a model whose files, and no others, are already in the local `folder`. Reads nothing
/// else, and starts no program. `url` is used for the name; `signature` is as in the options.
Result<std::unique_ptr<TextEncoder>> load_saved_model_encoder(Engine& engine, const std::string& url,
                                                              const std::string& folder,
                                                              const std::string& signature = {});

}  // namespace headrace
