#include "headrace/prepare/schema/image_converter.h"

#include <algorithm>
#include <string>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/codec/image/image_encoder.h"

namespace headrace {
namespace {

constexpr int kPngLevel = 6;
constexpr std::size_t kMostRawBytes = std::size_t{1} << 30;  // their size as base64 fits an int

std::string text_of(const ImageSize& size) { return concat(size.height, " x ", size.width); }

ImageSize upright_size(const ImageHeader& header) {
  if (!swaps_sides(header.orientation)) return header.size;
  return {.width = header.size.height, .height = header.size.width};
}

// JPEG has no alpha channel, and readers of raw pixels in base64 accept only grey and RGB.
std::uint32_t channels_to_decode(const ImageHeader& header, const ImageSteps& steps) {
  if (steps.channels != 0) return steps.channels;
  const bool has_alpha = header.channels == 2 || header.channels == 4;
  const bool leaves_alpha = steps.output == ImageOutput::kJpeg || steps.output == ImageOutput::kRawBase64;
  return header.channels - (leaves_alpha && has_alpha ? 1 : 0);
}

Result<PixelsView> middle_of(const PixelsView& pixels, const ImageSize& size) {
  if (size.height > pixels.size.height || size.width > pixels.size.width) {
    return Error{Code::kInvalidArgument, concat("the image is ", text_of(pixels.size),
                                                " pixels, smaller than the crop of ", text_of(size))};
  }
  return crop(pixels, {.left = (pixels.size.width - size.width) / 2,
                       .top = (pixels.size.height - size.height) / 2,
                       .size = size});
}

Status to_base64url(Bytes& data) {
  if (data.size() > kMostRawBytes)
    return Error{Code::kResourceExhausted, "its pixels are too many for one text in base64; resize it"};
  std::string text = base64(data);
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  data.clear();
  append(data, as_bytes(text));
  return {};
}

}  // namespace

Result<ConvertedImage> ImageConverter::convert(BytesView encoded, const ImageSteps& steps) {
  HEADRACE_TRY(const ImageHeader header, read_image_header(encoded));
  HEADRACE_CHECK(check_declared_size(header, encoded.size(), steps.max_pixels));
  if (!steps.decodes()) return ConvertedImage{encoded, upright_size(header), header.channels};
  HEADRACE_TRY(const PixelsView pixels, pixels_of(encoded, header, steps));
  if (steps.output == ImageOutput::kAsIs)
    return ConvertedImage{encoded, upright_size(header), header.channels};
  return store(pixels, steps);
}

Result<PixelsView> ImageConverter::pixels_of(BytesView encoded, const ImageHeader& header,
                                             const ImageSteps& steps) {
  const DecodeOptions options{.channels = channels_to_decode(header, steps),
                              .background = steps.background,
                              .max_pixels = steps.max_pixels};
  HEADRACE_CHECK(decoder_.decode(encoded, options, decoded_));
  PixelsView pixels = decoded_.view();
  if (steps.resize && *steps.resize != pixels.size) {
    HEADRACE_CHECK(resized_.reshape(*steps.resize, pixels.channels));
    HEADRACE_CHECK(resizer_.resize(pixels, steps.method, resized_.mutable_view()));
    pixels = resized_.view();
  }
  if (steps.crop) {
    HEADRACE_TRY(pixels, middle_of(pixels, *steps.crop));
  }
  return pixels;
}

Result<ConvertedImage> ImageConverter::store(const PixelsView& pixels, const ImageSteps& steps) {
  stored_.clear();
  if (steps.output == ImageOutput::kJpeg) {
    HEADRACE_CHECK(encode_jpeg(pixels, {.quality = steps.quality}, stored_));
  } else if (steps.output == ImageOutput::kPng) {
    HEADRACE_CHECK(encode_png(pixels, kPngLevel, stored_));
  } else {
    for (std::size_t y = 0; y < pixels.size.height; ++y) {
      append(stored_, {reinterpret_cast<const std::byte*>(pixels.row(y)), pixels.row_samples()});
    }
    if (steps.output == ImageOutput::kRawBase64) {
      HEADRACE_CHECK(to_base64url(stored_));
    }
  }
  return ConvertedImage{stored_, pixels.size, pixels.channels};
}

}  // namespace headrace
