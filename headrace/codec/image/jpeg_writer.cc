#include <csetjmp>
#include <cstdio>
// libjpeg's headers need <cstdio> before them.
#include <jerror.h>
#include <jpeglib.h>

#include <new>

#include "headrace/base/text.h"
#include "headrace/codec/image/image_encoder.h"

namespace headrace {
namespace {

constexpr std::size_t kLeastRoomBytes = 16 << 10;

// libjpeg reports errors through a function that must not return; it jumps to `escape`. So the functions that
// set `escape` call only C and hold nothing that has a destructor.
struct JpegWriting {
  explicit JpegWriting(Bytes& target) : out(target), begin(target.size()) {}
  JpegWriting(const JpegWriting&) = delete;
  JpegWriting& operator=(const JpegWriting&) = delete;
  ~JpegWriting() { jpeg_destroy_compress(&jpeg); }

  Bytes& out;
  const std::size_t begin;
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg_destination_mgr destination{};
  std::jmp_buf escape{};
  char message[JMSG_LENGTH_MAX] = {};
};

[[noreturn]] void fail_to_write_jpeg(j_common_ptr jpeg) {
  auto& writing = *static_cast<JpegWriting*>(jpeg->client_data);
  jpeg->err->format_message(jpeg, writing.message);
  std::longjmp(writing.escape, 1);
}

void ignore_writer_message(j_common_ptr) {}

// Grows the output by half of its size. Returns false if there is no memory.
bool grow(JpegWriting& writing) {
  const std::size_t filled = writing.out.size();
  try {
    writing.out.resize(filled + std::max(kLeastRoomBytes, (filled - writing.begin) / 2));
  } catch (const std::bad_alloc&) {
    return false;
  }
  writing.destination.next_output_byte = reinterpret_cast<JOCTET*>(writing.out.data() + filled);
  writing.destination.free_in_buffer = writing.out.size() - filled;
  return true;
}

void make_room(j_compress_ptr jpeg) {
  if (grow(*static_cast<JpegWriting*>(jpeg->client_data))) return;
  jpeg->err->msg_code = JERR_OUT_OF_MEMORY;
  fail_to_write_jpeg(reinterpret_cast<j_common_ptr>(jpeg));
}

boolean make_more_room(j_compress_ptr jpeg) {
  make_room(jpeg);
  return TRUE;
}

void finish_output(j_compress_ptr jpeg) {
  auto& writing = *static_cast<JpegWriting*>(jpeg->client_data);
  writing.out.resize(writing.out.size() - writing.destination.free_in_buffer);
}

void set_subsampling(jpeg_compress_struct& jpeg, ChromaSubsampling subsampling) {
  jpeg.comp_info[0].h_samp_factor = subsampling == ChromaSubsampling::k444 ? 1 : 2;
  jpeg.comp_info[0].v_samp_factor = subsampling == ChromaSubsampling::k420 ? 2 : 1;
}

bool write(JpegWriting& writing, const PixelsView& pixels, const JpegOptions& options) {
  jpeg_compress_struct& jpeg = writing.jpeg;
  jpeg.err = jpeg_std_error(&writing.errors);
  writing.errors.error_exit = fail_to_write_jpeg;
  writing.errors.output_message = ignore_writer_message;
  jpeg.client_data = &writing;
  if (setjmp(writing.escape) != 0) return false;
  jpeg_create_compress(&jpeg);
  writing.destination.init_destination = make_room;
  writing.destination.empty_output_buffer = make_more_room;
  writing.destination.term_destination = finish_output;
  jpeg.dest = &writing.destination;
  jpeg.image_width = pixels.size.width;
  jpeg.image_height = pixels.size.height;
  jpeg.input_components = static_cast<int>(pixels.channels);
  jpeg.in_color_space = pixels.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, options.quality, TRUE);
  jpeg.dct_method = JDCT_ISLOW;
  if (pixels.channels == 3) set_subsampling(jpeg, options.subsampling);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(pixels.row(jpeg.next_scanline));  // libjpeg only reads it
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  return true;
}

}  // namespace

Status encode_jpeg(const PixelsView& pixels, const JpegOptions& options, Bytes& out) {
  const auto [width, height] = pixels.size;
  if (options.quality < 1 || options.quality > 100)
    return Error{Code::kInvalidArgument, concat("JPEG's quality is 1 to 100, not ", options.quality)};
  if (pixels.channels != 1 && pixels.channels != 3)
    return Error{Code::kInvalidArgument, concat("a JPEG has 1 or 3 channels, not ", pixels.channels)};
  if (width == 0 || height == 0 || width > JPEG_MAX_DIMENSION || height > JPEG_MAX_DIMENSION)
    return Error{Code::kInvalidArgument, concat("a JPEG cannot have ", width, " × ", height, " pixels")};
  JpegWriting writing(out);
  if (write(writing, pixels, options)) return {};
  out.resize(writing.begin);
  return Error{Code::kResourceExhausted, concat("no memory to encode a JPEG: ", writing.message)};
}

}  // namespace headrace
