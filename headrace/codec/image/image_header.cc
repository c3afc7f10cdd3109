#include "headrace/codec/image/image_header.h"

#include <optional>

#include "headrace/base/text.h"
#include "headrace/codec/image/exif.h"

namespace headrace {
namespace {

constexpr std::string_view kJpegSignature = "\xff\xd8\xff";
constexpr std::string_view kPngSignature = "\x89PNG\r\n\x1a\n";
constexpr std::string_view kExifSignature{"Exif\0\0", 6};

// A format that is not supported, and the bytes by which it is recognised.
struct OtherFormat {
  std::size_t offset;
  std::string_view signature;
  std::string_view name;
};
constexpr OtherFormat kOtherFormats[] = {
    {0, "GIF8", "a GIF"},
    {0, "BM", "a BMP"},
    {8, "WEBP", "a WebP"},
    {0, {"II*\0", 4}, "a TIFF"},
    {0, {"MM\0*", 4}, "a TIFF"},
    {4, "jP  \r\n", "a JPEG 2000"},
    {4, {"\r\n\x87\n", 4}, "a JPEG 2000"},
    {4, "ftypavif", "an AVIF"},
    {4, "ftyphei", "a HEIF"},
    {4, "ftypmif1", "a HEIF"},
    {0, "\xff\x0a", "a JPEG XL"},
    {4, "JXL \r\n", "a JPEG XL"},
};

Error cut_short(std::string_view what) {
  return {Code::kDataLoss, concat("the ", what, " is cut short: it ends before its pixels begin")};
}

std::uint32_t byte_at(BytesView bytes, std::size_t offset) {
  return std::to_integer<std::uint32_t>(bytes[offset]);
}

std::uint32_t big_endian(BytesView bytes, std::size_t offset, std::size_t width) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < width; ++i) value = value << 8 | byte_at(bytes, offset + i);
  return value;
}

Result<ImageFormat> recognize(BytesView encoded) {
  const std::string_view text = as_text(encoded);
  if (text.starts_with(kJpegSignature)) return ImageFormat::kJpeg;
  if (text.starts_with(kPngSignature)) return ImageFormat::kPng;
  if (text.empty()) return Error{Code::kDataLoss, "an image of zero bytes"};
  if (kJpegSignature.starts_with(text)) return cut_short("JPEG");
  if (kPngSignature.starts_with(text)) return cut_short("PNG");
  for (const OtherFormat& other : kOtherFormats) {
    if (text.size() > other.offset && text.substr(other.offset).starts_with(other.signature)) {
      return Error{Code::kUnimplemented,
                   concat("it is ", other.name, ", which is not supported; convert it to PNG or JPEG")};
    }
  }
  return Error{Code::kInvalidArgument, "it is not an image: neither JPEG nor PNG"};
}

// ---- JPEG --------------------------------------------------------------------------------------------

constexpr std::uint32_t kStartOfImage = 0xd8, kEndOfImage = 0xd9, kStartOfScan = 0xda, kApp1 = 0xe1;
constexpr std::uint32_t kProgressiveFrame = 0xc2;

// The next marker, and where its segment begins. Like libjpeg, skips bytes between segments.
struct JpegMarker {
  std::uint32_t code = 0;
  std::size_t end = 0;
};
std::optional<JpegMarker> next_marker(BytesView encoded, std::size_t position) {
  for (; position + 1 < encoded.size(); ++position) {
    const std::uint32_t code = byte_at(encoded, position + 1);
    if (byte_at(encoded, position) == 0xff && code != 0 && code != 0xff)
      return JpegMarker{code, position + 2};
  }
  return std::nullopt;
}

bool stands_alone(std::uint32_t marker) { return marker == 1 || (marker >= 0xd0 && marker <= 0xd7); }

bool is_frame(std::uint32_t marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

// Sequential and progressive JPEGs with Huffman codes are known. The others are lossless, hierarchical or
// arithmetic-coded.
bool is_known_frame(std::uint32_t marker) { return marker <= 0xc2; }

std::uint32_t components_of(const ImageHeader& header) { return header.is_cmyk ? 4 : header.channels; }

Status read_frame(std::uint32_t marker, BytesView segment, ImageHeader& header) {
  if (segment.size() < 6) return Error{Code::kDataLoss, "the JPEG's frame header is damaged"};
  header.bits = byte_at(segment, 0);
  header.size = {big_endian(segment, 3, 2), big_endian(segment, 1, 2)};
  const std::uint32_t components = byte_at(segment, 5);
  if (!is_known_frame(marker) || header.bits != 8) {
    return Error{Code::kUnimplemented,
                 concat("a lossless, hierarchical or arithmetic-coded JPEG, or one of ", header.bits,
                        " bits per sample, is not supported; convert it to PNG")};
  }
  if (components != 1 && components != 3 && components != 4)
    return Error{Code::kUnimplemented,
                 concat("a JPEG of ", components, " components is not supported; convert it to PNG")};
  header.channels = components == 1 ? 1 : 3;
  header.is_cmyk = components == 4;
  header.has_several_scans = marker == kProgressiveFrame;
  return {};
}

Result<ImageHeader> read_jpeg_header(BytesView encoded) {
  ImageHeader header{.format = ImageFormat::kJpeg};
  bool has_exif = false;
  for (std::size_t position = 2;;) {
    const std::optional<JpegMarker> marker = next_marker(encoded, position);
    if (!marker || encoded.size() - marker->end < 2) return cut_short("JPEG");
    position = marker->end;
    if (stands_alone(marker->code)) continue;
    if (marker->code == kStartOfScan && header.channels != 0) {
      // A scan's header begins with its size, followed by the number of components in the scan.
      const std::uint32_t scanned = encoded.size() - position < 3 ? 0 : byte_at(encoded, position + 2);
      header.has_several_scans = header.has_several_scans || scanned < components_of(header);
      return header;
    }
    if (marker->code == kStartOfScan || marker->code == kStartOfImage || marker->code == kEndOfImage)
      return Error{Code::kDataLoss, "the JPEG is damaged: it has no frame header before its pixels"};
    const std::size_t length = big_endian(encoded, position, 2);
    if (length < 2) return Error{Code::kDataLoss, "the JPEG is damaged: a segment has no length"};
    if (encoded.size() - position < length) return cut_short("JPEG");
    const BytesView segment = encoded.subspan(position + 2, length - 2);
    position += length;
    if (is_frame(marker->code)) {
      HEADRACE_CHECK(read_frame(marker->code, segment, header));
    } else if (marker->code == kApp1 && !has_exif && as_text(segment).starts_with(kExifSignature)) {
      has_exif = true;
      header.orientation = exif_orientation(segment.subspan(kExifSignature.size()));
    }
  }
}

// ---- PNG ---------------------------------------------------------------------------------------------

constexpr std::size_t kChunkFramingBytes = 12;  // length, type, CRC
constexpr std::size_t kImageHeaderBytes = 13;

bool is_known_depth(std::uint32_t color_type, std::uint32_t bits) {
  switch (color_type) {
    case 0:
      return bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16;
    case 3:
      return bits == 1 || bits == 2 || bits == 4 || bits == 8;
    case 2:
    case 4:
    case 6:
      return bits == 8 || bits == 16;
    default:
      return false;
  }
}

// In the colour type, bit 2 means colour and bit 4 means alpha.
Status read_image_header_chunk(BytesView data, ImageHeader& header) {
  header.size = {big_endian(data, 0, 4), big_endian(data, 4, 4)};
  header.bits = byte_at(data, 8);
  const std::uint32_t color_type = byte_at(data, 9);
  if (!is_known_depth(color_type, header.bits))
    return Error{Code::kDataLoss, "the PNG's header is damaged: it names an unknown pixel format"};
  header.channels = ((color_type & 2) != 0 ? 3 : 1) + ((color_type & 4) != 0 ? 1 : 0);
  return {};
}

Result<ImageHeader> read_png_header(BytesView encoded) {
  ImageHeader header{.format = ImageFormat::kPng};
  bool has_pixels = false;
  std::size_t position = kPngSignature.size();
  while (encoded.size() - position >= kChunkFramingBytes) {
    const std::size_t length = big_endian(encoded, position, 4);
    const std::string_view type = as_text(encoded.subspan(position + 4, 4));
    if (type == "IDAT") has_pixels = true;
    const bool is_whole = encoded.size() - position - kChunkFramingBytes >= length;
    if ((type == "IHDR") != (header.channels == 0) || (type == "IHDR" && length != kImageHeaderBytes))
      return Error{Code::kDataLoss, "the PNG is damaged: it does not begin with its header"};
    if (!is_whole || type == "IEND") break;
    const BytesView data = encoded.subspan(position + 8, length);
    if (type == "IHDR") HEADRACE_CHECK(read_image_header_chunk(data, header));
    if (type == "tRNS" && !has_pixels && header.channels % 2 == 1) ++header.channels;
    if (type == "eXIf") header.orientation = exif_orientation(data);
    position += kChunkFramingBytes + length;
  }
  if (!has_pixels) return cut_short("PNG");
  return header;
}

}  // namespace

std::string_view image_format_name(ImageFormat format) {
  return format == ImageFormat::kJpeg ? "JPEG" : "PNG";
}

Result<ImageHeader> read_image_header(BytesView encoded) {
  HEADRACE_TRY(const ImageFormat format, recognize(encoded));
  HEADRACE_TRY(const ImageHeader header,
               format == ImageFormat::kJpeg ? read_jpeg_header(encoded) : read_png_header(encoded));
  if (header.size.width == 0 || header.size.height == 0)
    return Error{Code::kDataLoss, concat("the ", image_format_name(format), " declares no pixels")};
  return header;
}

Status check_declared_size(const ImageHeader& header, std::uint64_t encoded_bytes, std::uint64_t max_pixels) {
  const auto [width, height] = header.size;
  const std::uint64_t pixels = std::uint64_t{width} * height;
  if (pixels > max_pixels) {
    return Error{Code::kResourceExhausted,
                 concat("the ", image_format_name(header.format), " declares ", width, " × ", height,
                        " pixels; the limit is ", max_pixels, " pixels: raise it, or leave the image out")};
  }
  // JPEG: sampling factors are at most 4, so at least one component has a block of 64 samples for each 256
  // pixels; and no Huffman code is shorter than a bit. PNG: deflate produces at most 1,032 bytes from one.
  const std::uint64_t least_bytes =
      header.format == ImageFormat::kJpeg ? pixels / 2048 : (pixels / 8 * header.bits + height) / 1032;
  if (encoded_bytes >= least_bytes) return {};
  return Error{Code::kDataLoss, concat("the ", image_format_name(header.format), " declares ", width, " × ",
                                       height, " pixels, which its ", encoded_bytes,
                                       " bytes cannot hold: it is damaged or truncated")};
}

}  // namespace headrace
