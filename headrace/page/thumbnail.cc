#include "headrace/page/thumbnail.h"

#include <algorithm>

#include "headrace/codec/image/image_decoder.h"
#include "headrace/codec/image/image_encoder.h"
#include "headrace/codec/image/resize.h"

namespace headrace {
namespace {

constexpr std::uint64_t kMaxPixels = 25'000'000;

ImageSize fitted(ImageSize size) {
  const std::uint64_t longest = std::max({size.width, size.height, kThumbnailSide});
  const auto scaled = [longest](std::uint32_t side) {
    return std::max<std::uint32_t>(
        1, static_cast<std::uint32_t>(std::uint64_t{side} * kThumbnailSide / longest));
  };
  return {scaled(size.width), scaled(size.height)};
}

}  // namespace

std::optional<Bytes> make_thumbnail(BytesView encoded) {
  ImageDecoder decoder;
  Image picture, small;
  const DecodeOptions options = {.channels = 3,
                                 .background = RgbColor{255, 255, 255},
                                 .at_least = ImageSize{kThumbnailSide, kThumbnailSide},
                                 .max_pixels = kMaxPixels};
  if (!decoder.decode(encoded, options, picture)) return std::nullopt;
  if (!small.reshape(fitted(picture.view().size), 3)) return std::nullopt;
  if (!Resizer().resize(picture.view(), ResizeMethod::kArea, small.mutable_view())) return std::nullopt;
  for (const int quality : {85, 60, 30}) {
    Bytes jpeg;
    if (!encode_jpeg(small.view(), {.quality = quality}, jpeg)) return std::nullopt;
    if (jpeg.size() <= kThumbnailBytes) return jpeg;
  }
  return std::nullopt;
}

}  // namespace headrace
