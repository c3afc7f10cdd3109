#pragma once

/// \file Image columns and augmentations as Python gives them.

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "headrace/stream/image_options.h"

namespace headrace::python {

/// Column, height, width, channels, resizing method, whether floats are wanted, whether JPEGs may be decoded
/// smaller, background (none: alpha is left out), most pixels.
using ImageTuple = std::tuple<std::string, std::uint32_t, std::uint32_t, std::uint32_t, std::string, bool,
                              bool, std::optional<RgbColor>, std::uint64_t>;
/// What, and its numbers: "flip"; "crop", height, width; "brightness", delta; "contrast", lower, upper.
using AugmentationTuple = std::tuple<std::string, std::vector<double>>;

/// Raises an error for what is not an augmentation.
ImageOptions images_of(const std::vector<ImageTuple>& columns,
                       const std::vector<AugmentationTuple>& augmentations);

}  // namespace headrace::python
