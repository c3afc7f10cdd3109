#include "headrace/codec/image/image_decoder.h"

#include <utility>

#include "headrace/base/text.h"
#include "headrace/codec/image/png_reader.h"

namespace headrace {
namespace {

constexpr std::uint32_t kWhole = 8;  // in eighths

std::uint64_t scaled(std::uint32_t side, std::uint32_t eighths) {
  return (std::uint64_t{side} * eighths + kWhole - 1) / kWhole;
}

// Chooses one of the sizes for which libjpeg-turbo has vector code. Other sizes, for example 3/8, cost more
// than the whole image.
std::uint32_t choose_eighths(const ImageHeader& header, const DecodeOptions& options) {
  if (!options.at_least) return kWhole;
  ImageSize least = *options.at_least;
  if (options.is_upright && swaps_sides(header.orientation)) std::swap(least.width, least.height);
  std::uint32_t eighths = 1;
  while (eighths < kWhole && (scaled(header.size.width, eighths) < least.width ||
                              scaled(header.size.height, eighths) < least.height))
    eighths *= 2;
  return eighths;
}

}  // namespace

std::uint64_t decode_memory_bytes(const ImageHeader& header, std::uint32_t channels) {
  constexpr std::uint64_t kMostScanBytes = 8;  // two for each component of a pixel
  const bool is_rewritten = header.is_cmyk || header.orientation != 1 || header.channels != channels;
  const std::uint64_t pixels = std::uint64_t{header.size.width} * header.size.height;
  return pixels * (Image::kMaxChannels + (is_rewritten ? Image::kMaxChannels : 0) +
                   (header.has_several_scans ? kMostScanBytes : 0));
}

Status ImageDecoder::decode(BytesView encoded, const DecodeOptions& options, Image& out) {
  Status status = decode_upright(encoded, options, out);
  if (!status) out.clear();
  return status;
}

Status ImageDecoder::decode_upright(BytesView encoded, const DecodeOptions& options, Image& out) {
  if (options.channels > Image::kMaxChannels)
    return Error{Code::kInvalidArgument, concat("an image has 1 to 4 channels, not ", options.channels)};
  HEADRACE_TRY(const ImageHeader header, read_image_header(encoded));
  HEADRACE_CHECK(check_declared_size(header, encoded.size(), options.max_pixels));
  HEADRACE_CHECK(header.format == ImageFormat::kJpeg ? decode_jpeg(encoded, header, options, out)
                                                     : read_png(encoded, header, out));
  const std::uint32_t channels = options.channels == 0 ? header.channels : options.channels;
  HEADRACE_CHECK(set_channels(channels, options.background, out));
  if (!options.is_upright || header.orientation == 1) return {};
  ImageSize size = out.view().size;
  if (swaps_sides(header.orientation)) std::swap(size.width, size.height);
  HEADRACE_CHECK(spare_.reshape(size, channels));
  turn_upright(out.view(), header.orientation, spare_.mutable_view());
  out.swap(spare_);
  return {};
}

Status ImageDecoder::decode_jpeg(BytesView encoded, const ImageHeader& header, const DecodeOptions& options,
                                 Image& out) {
  const bool wants_grey = options.channels == 1 || options.channels == 2;
  HEADRACE_TRY(const JpegReader::Layout layout,
               jpeg_.read(encoded, header, wants_grey, choose_eighths(header, options), out));
  if (layout == JpegReader::Layout::kGrey || layout == JpegReader::Layout::kRgb) return {};
  HEADRACE_CHECK(spare_.reshape(out.view().size, 3));
  convert_cmyk(out.view(), layout == JpegReader::Layout::kInvertedCmyk, spare_.mutable_view());
  out.swap(spare_);
  return {};
}

Status ImageDecoder::set_channels(std::uint32_t channels, const std::optional<RgbColor>& background,
                                  Image& out) {
  if (out.view().channels == channels) return {};
  HEADRACE_CHECK(spare_.reshape(out.view().size, channels));
  convert_channels(out.view(), background, spare_.mutable_view());
  out.swap(spare_);
  return {};
}

}  // namespace headrace
