#include "headrace/stream/augmentation_names.h"

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr float kMostContrast = 1000;

std::optional<float> number_between(std::string_view text, float lowest, float highest) {
  const auto number = parse_number<float>(text);
  return number && *number >= lowest && *number <= highest ? number : std::nullopt;
}

std::optional<Augmentation> augmentation_of(std::string_view name, std::string_view value) {
  if (name == "flip" && value.empty()) return Flip{};
  if (name == "crop") {
    const auto size = parse_image_size(value);
    return size ? std::optional<Augmentation>(Crop{*size}) : std::nullopt;
  }
  if (name == "brightness") {
    const auto delta = number_between(value, 0, 1);
    return delta ? std::optional<Augmentation>(Brightness{*delta}) : std::nullopt;
  }
  if (name != "contrast") return std::nullopt;
  const std::size_t colon = value.find(':');
  if (colon == value.npos) return std::nullopt;
  const auto lower = number_between(value.substr(0, colon), 0, kMostContrast);
  const auto upper = number_between(value.substr(colon + 1), lower.value_or(0), kMostContrast);
  return lower && upper ? std::optional<Augmentation>(Contrast{*lower, *upper}) : std::nullopt;
}

}  // namespace

Result<std::vector<Augmentation>> parse_augmentations(std::string_view option, std::string_view text) {
  std::vector<Augmentation> out;
  if (text.empty()) return out;
  for (const std::string& part : split(text, ',')) {
    const std::string_view whole = trim(part);
    const std::size_t equals = std::min(whole.find('='), whole.size());
    const auto found =
        augmentation_of(whole.substr(0, equals), whole.substr(std::min(equals + 1, whole.size())));
    if (!found) {
      return Error{Code::kInvalidArgument,
                   concat(option, " ", text, ": \"", whole,
                          "\" is not one of flip, crop=HEIGHTxWIDTH, brightness=DELTA (0 to 1), "
                          "contrast=LOWER:UPPER (0 to 1000)")};
    }
    out.push_back(*found);
  }
  return out;
}

std::optional<ImageSize> crop_size(const std::vector<Augmentation>& augmentations) {
  std::optional<ImageSize> size;
  for (const Augmentation& augmentation : augmentations) {
    if (const auto* const crop = std::get_if<Crop>(&augmentation)) size = crop->size;
  }
  return size;
}

}  // namespace headrace
