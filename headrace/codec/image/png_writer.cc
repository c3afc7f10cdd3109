#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <new>

#include "headrace/base/text.h"
#include "headrace/codec/image/image_encoder.h"

namespace headrace {
namespace {

// libpng reports errors through a function that must not return; it jumps to `escape`. So the functions that
// set `escape` call only C and hold nothing that has a destructor.
struct PngWriting {
  explicit PngWriting(Bytes& target) : out(target) {}
  PngWriting(const PngWriting&) = delete;
  PngWriting& operator=(const PngWriting&) = delete;
  ~PngWriting() { png_destroy_write_struct(&png, &info); }

  Bytes& out;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf escape{};
  char message[200] = "it cannot begin";
};

[[noreturn]] void fail_to_write_png(png_structp png, png_const_charp message) {
  auto& writing = *static_cast<PngWriting*>(png_get_error_ptr(png));
  std::snprintf(writing.message, sizeof writing.message, "%s", message);
  std::longjmp(writing.escape, 1);
}

void ignore_warning(png_structp, png_const_charp) {}

bool append_to(Bytes& out, BytesView data) {
  try {
    append(out, data);
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

void write_output(png_structp png, png_bytep from, std::size_t count) {
  auto& writing = *static_cast<PngWriting*>(png_get_io_ptr(png));
  if (!append_to(writing.out, std::as_bytes(std::span(from, count))))
    png_error(png, "the output is too large");
}

void flush_output(png_structp) {}

int color_type(std::uint32_t channels) {
  constexpr int kTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                            PNG_COLOR_TYPE_RGB_ALPHA};
  return kTypes[channels - 1];
}

bool write(PngWriting& writing, const PixelsView& pixels, int level) {
  if (setjmp(writing.escape) != 0) return false;
  writing.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &writing, fail_to_write_png, ignore_warning);
  if (writing.png == nullptr) return false;
  writing.info = png_create_info_struct(writing.png);
  if (writing.info == nullptr) return false;
  png_set_write_fn(writing.png, &writing, write_output, flush_output);
  png_set_user_limits(writing.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_compression_level(writing.png, level);
  png_set_IHDR(writing.png, writing.info, pixels.size.width, pixels.size.height, 8,
               color_type(pixels.channels), PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(writing.png, writing.info);
  for (std::size_t y = 0; y < pixels.size.height; ++y) png_write_row(writing.png, pixels.row(y));
  png_write_end(writing.png, nullptr);
  return true;
}

}  // namespace

Status encode_png(const PixelsView& pixels, int level, Bytes& out) {
  const auto [width, height] = pixels.size;
  if (level < 1 || level > 9)
    return Error{Code::kInvalidArgument, concat("PNG's level is 1 to 9, not ", level)};
  if (pixels.channels == 0 || pixels.channels > Image::kMaxChannels)
    return Error{Code::kInvalidArgument, concat("a PNG has 1 to 4 channels, not ", pixels.channels)};
  if (width == 0 || height == 0 || width > PNG_UINT_31_MAX || height > PNG_UINT_31_MAX)
    return Error{Code::kInvalidArgument, concat("a PNG cannot have ", width, " × ", height, " pixels")};
  const std::size_t begin = out.size();
  PngWriting writing(out);
  if (write(writing, pixels, level)) return {};
  out.resize(begin);
  return Error{Code::kResourceExhausted, concat("no memory to encode a PNG: ", writing.message)};
}

}  // namespace headrace
