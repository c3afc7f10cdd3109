#pragma once

/// \file The form in which options name augmentations: "flip,crop=140x140,brightness=0.1,contrast=0.8:1.2".

#include <optional>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/stream/augmentation.h"

namespace headrace {

/// Empty: none. Brightness is from 0 to 1; contrast from 0 to 1000, the lower first.
/// \error kInvalidArgument  calls the text `option`, and says what was meant
Result<std::vector<Augmentation>> parse_augmentations(std::string_view option, std::string_view text);

/// The size of a crop; none: nothing crops.
std::optional<ImageSize> crop_size(const std::vector<Augmentation>& augmentations);

}  // namespace headrace
