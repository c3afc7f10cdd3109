#pragma once

/// \file The text of augmentations in options: "flip,crop=140x140,brightness=0.1,contrast=0.8:1.2".

#include <optional>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/stream/augmentation.h"

namespace headrace {

/// Parses augmentations; an empty text gives none. A crop is height × width. Brightness is from 0 to 1;
/// contrast is from 0 to 1000, with the lower number first.
/// \error kInvalidArgument  the text has another form; the message names `option` and says what is allowed
Result<std::vector<Augmentation>> parse_augmentations(std::string_view option, std::string_view text);

/// The size of the last crop; none if nothing crops.
std::optional<ImageSize> crop_size(const std::vector<Augmentation>& augmentations);

}  // namespace headrace
