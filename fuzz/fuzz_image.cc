#include <cstdlib>
#include <memory>

#include "fuzz/script.h"
#include "headrace/codec/image/image_builder_test.h"
#include "headrace/codec/image/image_decoder.h"
#include "headrace/codec/image/resize.h"

namespace headrace {
namespace {

constexpr std::uint64_t kMaxPixels = 1 << 14;

// As the script says; zeros when it is used up.
std::vector<std::uint8_t> make_samples(Script& script, std::size_t count) {
  std::vector<std::uint8_t> samples(count);
  for (std::uint8_t& sample : samples) sample = static_cast<std::uint8_t>(script.byte());
  return samples;
}

Bytes make_jpeg_file(Script& script) {
  const ImageSize size = {1 + script.byte() % 64, 1 + script.byte() % 64};
  const JpegKind kind = {.colors = static_cast<JpegColors>(script.byte() % 3),
                         .scans = static_cast<JpegScans>(script.byte() % 3),
                         .has_adobe_marker = script.byte() % 2 == 0};
  const std::uint32_t channels = kind.colors == JpegColors::kYcc ? 3 : 4;
  if (channels == 4 && kind.scans == JpegScans::kOneForEachComponent) return {};
  const auto orientation = static_cast<std::uint16_t>(script.byte() % 10);
  const Image image =
      image_of(size, channels, make_samples(script, 1U * size.width * size.height * channels));
  return with_exif(make_jpeg(image.view(), kind), make_exif(orientation, script.byte() % 2 == 0));
}

// A PNG whose checksums are right, but whose rows may be too few or not fit.
Bytes make_png_file(Script& script) {
  constexpr int kBits[] = {1, 2, 4, 8, 16};
  const PngKind kind = {.size = {1 + script.byte() % 64, 1 + script.byte() % 64},
                        .bits = kBits[script.byte() % 5],
                        .color_type = static_cast<int>(script.byte() % 7),
                        .is_interlaced = script.byte() % 2 == 0};
  std::string between;
  for (const std::string type : {"PLTE", "tRNS", "eXIf"}) {
    if (script.byte() % 2 == 0) between += png_chunk(type, to_string(script.take(script.byte())));
  }
  std::string rows = to_string(script.take(script.word()));
  rows.resize(rows.size() + script.word(), '\0');
  return make_png(kind, rows, between);
}

void damage(Bytes& file, Script& script) {
  for (unsigned count = script.byte() % 4; count > 0 && !file.empty(); --count)
    file[script.word() % file.size()] = static_cast<std::byte>(script.byte());
  if (script.byte() % 4 == 0) file.resize(file.size() - std::min<std::size_t>(file.size(), script.word()));
}

// A decoded image has its declared size, survives a PNG, and can be resized.
void check_pixels(const ImageHeader& header, const DecodeOptions& options, const PixelsView& pixels) {
  ImageSize size = header.size;
  if (options.is_upright && swaps_sides(header.orientation)) std::swap(size.width, size.height);
  const std::uint32_t channels = options.channels == 0 ? header.channels : options.channels;
  if (pixels.channels != channels || 1ULL * size.width * size.height > kMaxPixels) std::abort();
  if (!options.at_least && pixels.size != size) std::abort();
  Bytes png;
  Image again;
  if (!encode_png(pixels, 1, png) || !ImageDecoder().decode(png, {}, again)) std::abort();
  if (samples_of(again.view()) != samples_of(pixels)) std::abort();
  // A copy of exactly this size, so that reads or writes outside of it are noticed.
  const auto copy = std::make_unique<std::uint8_t[]>(samples_of(pixels).size());
  const MutablePixelsView dense = dense_pixels(copy.get(), pixels.size, pixels.channels);
  std::ranges::copy(samples_of(pixels), dense.data);
  Resizer resizer;
  for (const ResizeMethod method : {ResizeMethod::kBilinear, ResizeMethod::kArea}) {
    const auto to = std::make_unique<std::uint8_t[]>(std::size_t{13} * 7 * pixels.channels);
    if (!resizer.resize(dense, method, dense_pixels(to.get(), {13, 7}, pixels.channels))) std::abort();
  }
}

void check_file(const Bytes& file, const DecodeOptions& options) {
  // Kept, as a program would: an error must leave nothing behind.
  static ImageDecoder decoder;
  // A copy of exactly this size.
  const auto copy = std::make_unique<std::byte[]>(file.size());
  const MutableBytesView encoded(copy.get(), file.size());
  std::ranges::copy(file, encoded.begin());
  Image out;
  const auto header = read_image_header(encoded);
  const Status status = decoder.decode(encoded, options, out);
  if (!status) {
    if (out.view().data != nullptr || status.error().message.empty()) std::abort();
    return;
  }
  if (!header) std::abort();
  check_pixels(*header, options, out.view());
}

}  // namespace
}  // namespace headrace

// The first bytes say what the rest is, a file as it stands or what to make one of, and what is asked for.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace headrace;
  Script script(std::as_bytes(std::span(data, size)));
  const unsigned mode = script.byte();
  DecodeOptions options = {
      .channels = script.byte() % 5, .is_upright = (mode & 16) != 0, .max_pixels = kMaxPixels};
  if ((mode & 32) != 0) options.background = RgbColor{1, 2, 3};
  if ((mode & 64) != 0) options.at_least = ImageSize{script.byte(), script.byte()};
  if (mode % 4 == 0) {
    const BytesView rest = script.take(size);
    check_file(Bytes(rest.begin(), rest.end()), options);
    return 0;
  }
  Bytes file = mode % 4 == 1 ? make_png_file(script) : make_jpeg_file(script);
  damage(file, script);
  check_file(file, options);
  return 0;
}
