#pragma once

/// \file The options with which commands choose a text encoder.

#include "headrace/cli/command.h"
#include "headrace/engine/encoders.h"
#include "headrace/model/contract.h"
#include "headrace/prepare/schema/text_encoders.h"

namespace headrace {

inline constexpr Option kEncoderOption = {
    .name = "encoder",
    .default_value = "use-multilingual-v3",
    .sentence = "Text encoder: hash:N, use-multilingual-v3 or saved_model:URL."};
inline constexpr Option kEncoderWeightsOption = {
    .name = "encoder-weights",
    .unit = "folder",
    .sentence =
        "Folder with the encoder's weights. Default: the folder with the encoder's name in "
        "HEADRACE_ENCODERS, else in ~/.cache/headrace/encoders."};

/// Where this process finds encoders, and how it makes them. The result refers to the environment and the
/// stores, which must outlive it.
EncoderSources encoder_sources(const Environment& environment, StoreRegistry& stores,
                               const std::string& weights_folder);
inline EncoderSources encoder_sources(const CommandContext& context, const std::string& weights_folder) {
  return encoder_sources(context.environment, context.stores, weights_folder);
}

/// Makes the encoders of a model's inputs, and checks that they are those with which the model was trained.
/// `of_features`: as in ModelContract.
/// \error kFailedPrecondition  an encoder here has other weights
/// \error as make_text_encoder
Result<TextEncoders> encoders_of(const std::map<std::string, EncoderDescription>& of_features,
                                 const EncoderSources& sources);

}  // namespace headrace
