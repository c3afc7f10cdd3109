#include "bindings/python/images.h"

#include "bindings/python/choices.h"
#include "bindings/python/errors.h"
#include "headrace/base/text.h"

namespace headrace::python {

namespace {

Augmentation augmentation_of(const AugmentationTuple& tuple) {
  const auto& [kind, numbers] = tuple;
  if (kind == "flip" && numbers.empty()) return Flip{};
  if (kind == "crop" && numbers.size() == 2)
    return Crop{
        {.width = static_cast<std::uint32_t>(numbers[1]), .height = static_cast<std::uint32_t>(numbers[0])}};
  if (kind == "brightness" && numbers.size() == 1) return Brightness{static_cast<float>(numbers[0])};
  if (kind == "contrast" && numbers.size() == 2)
    return Contrast{static_cast<float>(numbers[0]), static_cast<float>(numbers[1])};
  raise({Code::kInvalidArgument,
         concat("there is no augmentation '", kind, "' with ", numbers.size(), " numbers")});
}

}  // namespace

ImageOptions images_of(const std::vector<ImageTuple>& columns,
                       const std::vector<AugmentationTuple>& augmentations) {
  ImageOptions images;
  for (const auto& [name, height, width, channels, method, is_float, is_scaled, background, max_pixels] :
       columns) {
    images.columns[name] = {.size = {.width = width, .height = height},
                            .channels = channels,
                            .method = resize_method_of(method),
                            .is_float = is_float,
                            .is_scaled = is_scaled,
                            .background = background,
                            .max_pixels = max_pixels};
  }
  for (const AugmentationTuple& augmentation : augmentations)
    images.augmentations.push_back(augmentation_of(augmentation));
  return images;
}

}  // namespace headrace::python
