#pragma once

/// \file The encoder saved_model:URL, for example a model of TensorFlow Hub: a SavedModel with a signature
/// that takes string[n] and returns float[n, dimension].

#include <memory>
#include <string>

#include "headrace/base/result.h"
#include "headrace/engine/encoder.h"
#include "headrace/engine/engine.h"
#include "headrace/store/location.h"

namespace headrace {

struct SavedModelEncoderOptions {
  /// "": serving_default, or the only one that fits.
  std::string signature{};
  /// The model is copied here (StagedFolder) while it is loaded.
  std::string temporary_folder;
  std::uint64_t size_limit_bytes = std::uint64_t{16} << 30;
};

/// Copies the model from its store and loads it. Its `name()` is "saved_model:" and the URL, its digest that
/// of the names and contents of all files. Each text is a run of its own, on one thread: otherwise its vector
/// would depend on the other texts. If a model has several text inputs, or none, nothing is guessed.
/// \error kNotFound         there is no SavedModel at the location
/// \error kInvalidArgument  no signature, or several, take texts to vectors; the message lists the signatures
Result<std::unique_ptr<TextEncoder>> open_saved_model_encoder(Engine& engine, const Location& model,
                                                              const SavedModelEncoderOptions& options);

/// The same for a model whose files, and no others, lie in `folder` already. Reads nothing else, and starts
/// no program. `url` is its name; `signature` as in the options.
Result<std::unique_ptr<TextEncoder>> load_saved_model_encoder(Engine& engine, const std::string& url,
                                                              const std::string& folder,
                                                              const std::string& signature = {});

}  // namespace headrace
