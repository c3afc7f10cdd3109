#include "headrace/stream/image_options.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::uint64_t kMostSamples = std::numeric_limits<std::int32_t>::max();

std::string text_of(ImageSize size) { return concat(size.height, " × ", size.width); }

std::uint64_t pixel_count(ImageSize size) { return std::uint64_t{size.width} * size.height; }

Error invalid(std::string_view name, std::string_view what) {
  return {Code::kInvalidArgument, concat("image column ", name, ": ", what)};
}

Status check_feature(const std::string& name, const std::vector<Column>& columns) {
  const auto found = std::ranges::find(columns, name, &Column::name);
  if (found == columns.end()) return invalid(name, "there is no such column");
  const bool fits = found->type == DataType::kBytes && found->length == 1U && found->required;
  if (!fits || found->default_value.index() != 0)
    return invalid(name, "an image is one byte string of each record, without a default");
  return {};
}

Status check_image_column(const std::string& name, const ImageColumn& column) {
  const std::uint64_t pixels = pixel_count(column.size);
  if (pixels == 0 || pixels > kMostSamples / Image::kMaxChannels)
    return invalid(name, concat("an image cannot have ", text_of(column.size), " pixels"));
  if (column.channels == 0 || column.channels > Image::kMaxChannels)
    return invalid(name, concat("an image has 1 to ", Image::kMaxChannels, " channels"));
  return {};
}

// Checks an augmentation of an image that has the given size. A crop updates the size.
Status check(const Flip&, ImageSize&) { return {}; }

Status check(const Crop& crop, ImageSize& size) {
  if (pixel_count(crop.size) == 0 || crop.size.width > size.width || crop.size.height > size.height) {
    return Error{Code::kInvalidArgument,
                 concat("a crop of ", text_of(crop.size), " of an image of ", text_of(size),
                        " pixels: make the crop smaller, or the image larger")};
  }
  size = crop.size;
  return {};
}

Status check(const Brightness& brightness, ImageSize&) {
  if (brightness.delta >= 0 && brightness.delta <= 1) return {};
  return Error{Code::kInvalidArgument, concat("a brightness of ", brightness.delta, "; it must be 0 to 1")};
}

Status check(const Contrast& contrast, ImageSize&) {
  if (contrast.lower >= 0 && contrast.lower <= contrast.upper && std::isfinite(contrast.upper)) return {};
  return Error{Code::kInvalidArgument,
               concat("a contrast from ", contrast.lower, " to ", contrast.upper,
                      "; both must be 0 or above, and the second not below the first")};
}

}  // namespace

Status check_images(const ImageOptions& images, const std::vector<Column>& columns) {
  if (images.columns.empty() && !images.augmentations.empty())
    return Error{Code::kInvalidArgument, "there is no image column to augment"};
  for (const auto& [name, column] : images.columns) {
    HEADRACE_CHECK(check_feature(name, columns));
    HEADRACE_CHECK(check_image_column(name, column));
    ImageSize size = column.size;
    for (const Augmentation& augmentation : images.augmentations) {
      Status status = std::visit([&](const auto& kind) { return check(kind, size); }, augmentation);
      if (!status) return invalid(name, status.error().message);
    }
  }
  return {};
}

ImageSize size_in_batch(const ImageColumn& column, const std::vector<Augmentation>& augmentations) {
  ImageSize size = column.size;
  for (const Augmentation& augmentation : augmentations)
    if (const auto* crop = std::get_if<Crop>(&augmentation)) size = crop->size;
  return size;
}

std::vector<BatchColumn> batch_columns(const std::vector<Column>& columns, const ImageOptions& images) {
  std::vector<BatchColumn> held;
  for (const Column& column : columns) {
    const auto found = images.columns.find(column.name);
    if (found == images.columns.end()) {
      held.push_back(batch_column(column));
      continue;
    }
    const ImageColumn& image = found->second;
    const std::uint64_t pixels = pixel_count(size_in_batch(image, images.augmentations));
    held.push_back({image.is_float ? DataType::kFloat32 : DataType::kUint8,
                    static_cast<std::uint32_t>(pixels * image.channels)});
  }
  return held;
}

}  // namespace headrace
