#include "headrace/codec/image/png_reader.h"

#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "headrace/base/text.h"

namespace headrace {
namespace {

// libpng reports errors through a function that must not return; it jumps to `escape`. So the functions that
// set `escape` call only C and hold nothing that has a destructor.
struct PngReading {
  explicit PngReading(BytesView encoded) : rest(encoded) {}
  PngReading(const PngReading&) = delete;
  PngReading& operator=(const PngReading&) = delete;
  ~PngReading() { png_destroy_read_struct(&png, &info, nullptr); }

  png_structp png = nullptr;
  png_infop info = nullptr;
  BytesView rest;
  int passes = 1;
  std::jmp_buf escape{};
  char message[200] = {};
};

[[noreturn]] void fail(png_structp png, png_const_charp message) {
  auto& reading = *static_cast<PngReading*>(png_get_error_ptr(png));
  std::snprintf(reading.message, sizeof reading.message, "%s", message);
  std::longjmp(reading.escape, 1);
}

void ignore_reader_warning(png_structp, png_const_charp) {}

void read_input(png_structp png, png_bytep to, std::size_t count) {
  auto& reading = *static_cast<PngReading*>(png_get_io_ptr(png));
  if (count > reading.rest.size()) png_error(png, "it ends too early");
  std::memcpy(to, reading.rest.data(), count);
  reading.rest = reading.rest.subspan(count);
}

// Reads up to the pixels, and decides the form in which they are decoded.
bool begin(PngReading& reading) {
  if (setjmp(reading.escape) != 0) return false;
  reading.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reading, fail, ignore_reader_warning);
  if (reading.png == nullptr) return false;
  reading.info = png_create_info_struct(reading.png);
  if (reading.info == nullptr) return false;
  png_set_read_fn(reading.png, &reading, read_input);
  // Headrace limits the number of pixels instead.
  png_set_user_limits(reading.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_keep_unknown_chunks(reading.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_crc_action(reading.png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  png_read_info(reading.png, reading.info);
  png_set_expand(reading.png);
  png_set_strip_16(reading.png);
  reading.passes = png_set_interlace_handling(reading.png);
  png_read_update_info(reading.png, reading.info);
  return true;
}

bool read_rows(PngReading& reading, MutablePixelsView out) {
  if (setjmp(reading.escape) != 0) return false;
  for (int pass = 0; pass < reading.passes; ++pass) {
    for (std::size_t y = 0; y < out.size.height; ++y) png_read_row(reading.png, out.row(y), nullptr);
  }
  png_read_end(reading.png, nullptr);
  return true;
}

Error describe(const PngReading& reading) {
  if (reading.png == nullptr || reading.info == nullptr)
    return {Code::kResourceExhausted, "no memory to decode a PNG"};
  return {Code::kDataLoss, concat("the PNG is damaged or truncated: ", std::string_view(reading.message))};
}

}  // namespace

Status read_png(BytesView encoded, const ImageHeader& header, Image& out) {
  PngReading reading(encoded);
  if (!begin(reading)) return describe(reading);
  const ImageSize declared = {png_get_image_width(reading.png, reading.info),
                              png_get_image_height(reading.png, reading.info)};
  const std::size_t row_bytes = png_get_rowbytes(reading.png, reading.info);
  if (declared != header.size || row_bytes != std::size_t{header.size.width} * header.channels)
    return Error{Code::kDataLoss, "the PNG is damaged: its transparency or size is not what it declares"};
  HEADRACE_CHECK(out.reshape(header.size, header.channels));
  if (!read_rows(reading, out.mutable_view())) return describe(reading);
  return {};
}

}  // namespace headrace
