#pragma once

/// \file The options by which commands choose a text encoder.

#include "headrace/cli/command.h"
#include "headrace/engine/encoders.h"

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

/// Where and how encoders of this process are made.
EncoderSources encoder_sources(const CommandContext& context, const std::string& weights_folder);

}  // namespace headrace
