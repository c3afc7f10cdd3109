#include "headrace/codec/image/image_builder_test.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>
// libjpeg's headers need <cstdio> before them.
#include <jpeglib.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace headrace {
namespace {

std::uint8_t smooth_sample(std::size_t x, std::size_t y, std::size_t channel) {
  const double wave = std::sin(static_cast<double>(x) * 0.11 + static_cast<double>(channel)) +
                      std::cos(static_cast<double>(y) * 0.07);
  return static_cast<std::uint8_t>(127.5 + 60 * wave);
}

void append_number(std::string& out, std::size_t value, int width) {
  while (width-- > 0) out += static_cast<char>(value >> 8 * width & 255);
}

std::string png_begin(const PngKind& kind) {
  std::string header;
  append_number(header, kind.size.width, 4);
  append_number(header, kind.size.height, 4);
  header += {static_cast<char>(kind.bits), static_cast<char>(kind.color_type), 0, 0,
             static_cast<char>(kind.is_interlaced)};
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", header);
}

J_COLOR_SPACE color_space(JpegColors colors) {
  switch (colors) {
    case JpegColors::kYcc:
      return JCS_YCbCr;
    case JpegColors::kCmyk:
      return JCS_CMYK;
    case JpegColors::kYcck:
      return JCS_YCCK;
  }
  return JCS_UNKNOWN;
}

}  // namespace

Image smooth_image(ImageSize size, std::uint32_t channels) {
  Image image;
  if (!image.reshape(size, channels)) return image;
  for (std::size_t y = 0; y < size.height; ++y) {
    std::uint8_t* row = image.mutable_view().row(y);
    for (std::size_t x = 0; x < size.width; ++x) {
      for (std::size_t i = 0; i < channels; ++i) *row++ = smooth_sample(x, y, i);
    }
  }
  return image;
}

Image image_of(ImageSize size, std::uint32_t channels, const std::vector<std::uint8_t>& samples) {
  Image image;
  if (image.reshape(size, channels)) std::ranges::copy(samples, image.mutable_view().data);
  return image;
}

std::string png_chunk(const std::string& type, const std::string& data) {
  std::string chunk;
  append_number(chunk, data.size(), 4);
  const std::string checked = type + data;
  chunk += checked;
  append_number(
      chunk, crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<unsigned>(checked.size())),
      4);
  return chunk;
}

Bytes make_png(const PngKind& kind, const std::string& rows, const std::string& between) {
  std::string deflated(compressBound(rows.size()), '\0');
  uLongf size = deflated.size();
  compress(reinterpret_cast<Bytef*>(deflated.data()), &size, reinterpret_cast<const Bytef*>(rows.data()),
           rows.size());
  deflated.resize(size);
  return to_bytes(png_begin(kind) + between + png_chunk("IDAT", deflated) + png_chunk("IEND", ""));
}

std::string interlaced_rows(const PixelsView& pixels) {
  constexpr std::array<std::array<std::size_t, 4>, 7> kPasses = {
      {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}};
  std::string rows;
  for (const auto& [left, top, right_step, down_step] : kPasses) {
    for (std::size_t y = top; left < pixels.size.width && y < pixels.size.height; y += down_step) {
      rows += '\0';
      for (std::size_t x = left; x < pixels.size.width; x += right_step)
        rows.append(reinterpret_cast<const char*>(pixels.row(y) + x * pixels.channels), pixels.channels);
    }
  }
  return rows;
}

Bytes make_jpeg(const PixelsView& pixels, const JpegKind& kind) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &memory, &size);
  jpeg.image_width = pixels.size.width;
  jpeg.image_height = pixels.size.height;
  jpeg.input_components = static_cast<int>(pixels.channels);
  jpeg.in_color_space = pixels.channels == 4 ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_colorspace(&jpeg, color_space(kind.colors));
  jpeg_set_quality(&jpeg, 95, TRUE);
  const jpeg_scan_info scans[] = {{1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
  if (kind.scans == JpegScans::kOneForEachComponent) {
    jpeg.scan_info = scans;
    jpeg.num_scans = 3;
  }
  if (kind.scans == JpegScans::kProgressive) jpeg_simple_progression(&jpeg);
  if (!kind.has_adobe_marker) jpeg.write_Adobe_marker = FALSE;
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(pixels.row(jpeg.next_scanline));
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  const auto* data = reinterpret_cast<const std::byte*>(memory);
  Bytes out(data, data + size);
  std::free(memory);
  return out;
}

std::string make_exif(std::uint16_t orientation, bool is_little_endian) {
  const auto number = [&](std::size_t value, int width) {
    std::string text;
    append_number(text, value, width);
    if (is_little_endian) std::ranges::reverse(text);
    return text;
  };
  return (is_little_endian ? "II" : "MM") + number(42, 2) + number(8, 4) + number(1, 2) + number(0x112, 2) +
         number(3, 2) + number(1, 4) + number(orientation, 2) + number(0, 2) + number(0, 4);
}

Bytes with_exif(const Bytes& jpeg, const std::string& exif) {
  const std::string_view text = as_text(jpeg);
  std::string segment = "\xff\xe1";
  append_number(segment, exif.size() + 8, 2);
  segment += std::string("Exif\0\0", 6) + exif;
  return to_bytes(std::string(text.substr(0, 2)) + segment + std::string(text.substr(2)));
}

}  // namespace headrace
