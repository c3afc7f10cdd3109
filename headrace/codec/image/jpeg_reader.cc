#include "headrace/codec/image/jpeg_reader.h"

#include <csetjmp>
#include <cstdio>
// libjpeg's headers need <cstdio> before them.
#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {

// libjpeg reports errors through a function that must not return; it jumps to `escape`. So the functions that
// set `escape` call only C and hold nothing that has a destructor.
struct JpegState {
  JpegState() = default;
  ~JpegState() {
    if (is_created) jpeg_destroy_decompress(&jpeg);
  }
  JpegState(const JpegState&) = delete;  // libjpeg keeps its address
  JpegState& operator=(const JpegState&) = delete;

  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg_source_mgr source{};
  jpeg_progress_mgr progress{};
  std::jmp_buf escape{};
  char message[JMSG_LENGTH_MAX] = {};
  bool is_created = false;
};

namespace {

[[noreturn]] void fail(j_common_ptr jpeg) {
  auto& state = *static_cast<JpegState*>(jpeg->client_data);
  jpeg->err->format_message(jpeg, state.message);
  std::longjmp(state.escape, 1);
}

// libjpeg warns of damage that it repairs, for example with a half of the picture in grey. Only these
// warnings do not affect any pixel.
bool is_harmless(int warning) {
  return warning == JWRN_EXTRANEOUS_DATA || warning == JWRN_JFIF_MAJOR || warning == JWRN_ADOBE_XFORM;
}

void warn(j_common_ptr jpeg, int level) {
  if (level < 0 && !is_harmless(jpeg->err->msg_code)) fail(jpeg);
}

boolean fill_input(j_decompress_ptr jpeg) {
  jpeg->err->msg_code = JERR_INPUT_EOF;
  fail(reinterpret_cast<j_common_ptr>(jpeg));
}

void skip_input(j_decompress_ptr jpeg, long count) {
  if (count <= 0) return;
  const std::size_t step = std::min(static_cast<std::size_t>(count), jpeg->src->bytes_in_buffer);
  jpeg->src->next_input_byte += step;
  jpeg->src->bytes_in_buffer -= step;
}

void limit_scans(j_common_ptr jpeg) {
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= kMaxJpegScans) return;
  auto& state = *static_cast<JpegState*>(jpeg->client_data);
  state.errors.msg_code = JMSG_NOMESSAGE;
  std::snprintf(state.message, sizeof state.message, "more than %d scans", kMaxJpegScans);
  std::longjmp(state.escape, 1);
}

void ignore(j_decompress_ptr) {}
void ignore_reader_message(j_common_ptr) {}

bool create(JpegState& state) {
  state.jpeg.err = jpeg_std_error(&state.errors);
  state.errors.error_exit = fail;
  state.errors.emit_message = warn;
  state.errors.output_message = ignore_reader_message;
  state.jpeg.client_data = &state;
  if (setjmp(state.escape) != 0) return false;
  jpeg_create_decompress(&state.jpeg);
  state.is_created = true;
  state.source.init_source = ignore;
  state.source.fill_input_buffer = fill_input;
  state.source.skip_input_data = skip_input;
  state.source.resync_to_restart = jpeg_resync_to_restart;
  state.source.term_source = ignore;
  state.progress.progress_monitor = limit_scans;
  state.jpeg.src = &state.source;
  state.jpeg.progress = &state.progress;
  return true;
}

bool begin(JpegState& state, BytesView encoded, bool wants_grey, std::uint32_t eighths) {
  jpeg_decompress_struct& jpeg = state.jpeg;
  state.source.next_input_byte = reinterpret_cast<const JOCTET*>(encoded.data());
  state.source.bytes_in_buffer = encoded.size();
  if (setjmp(state.escape) != 0) return false;
  jpeg_read_header(&jpeg, TRUE);
  const bool is_cmyk = jpeg.num_components == 4;
  jpeg.out_color_space = is_cmyk                                  ? JCS_CMYK
                         : wants_grey || jpeg.num_components == 1 ? JCS_GRAYSCALE
                                                                  : JCS_RGB;
  jpeg.scale_num = eighths;
  jpeg.scale_denom = DCTSIZE;
  jpeg.dct_method = JDCT_ISLOW;
  jpeg.do_fancy_upsampling = TRUE;
  // The environment could set a limit. This line removes it.
  jpeg.mem->max_memory_to_use = 0;
  jpeg_calc_output_dimensions(&jpeg);
  return true;
}

bool read_rows(JpegState& state, MutablePixelsView out) {
  jpeg_decompress_struct& jpeg = state.jpeg;
  if (setjmp(state.escape) != 0) return false;
  jpeg_start_decompress(&jpeg);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW rows[4];
    const auto count = std::min<JDIMENSION>(4, jpeg.output_height - jpeg.output_scanline);
    for (JDIMENSION i = 0; i < count; ++i) rows[i] = out.row(jpeg.output_scanline + i);
    jpeg_read_scanlines(&jpeg, rows, count);
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}

Error describe(int code, const char* message) {
  if (code == JERR_OUT_OF_MEMORY) return {Code::kResourceExhausted, "no memory to decode a JPEG"};
  if (code == JERR_SOF_UNSUPPORTED || code == JERR_NOT_COMPILED || code == JERR_CONVERSION_NOTIMPL)
    return {Code::kUnimplemented, concat("an unsupported kind of JPEG: ", message)};
  return {Code::kDataLoss, concat("the JPEG is damaged or truncated: ", message)};
}

}  // namespace

JpegReader::JpegReader() : state_(std::make_unique<JpegState>()) {}
JpegReader::JpegReader(JpegReader&&) noexcept = default;
JpegReader& JpegReader::operator=(JpegReader&&) noexcept = default;
JpegReader::~JpegReader() = default;

Result<JpegReader::Layout> JpegReader::read(BytesView encoded, const ImageHeader& header, bool wants_grey,
                                            std::uint32_t eighths, Image& out) {
  JpegState& state = *state_;
  jpeg_decompress_struct& jpeg = state.jpeg;
  const auto failure = [&] {
    if (state.is_created) jpeg_abort_decompress(&jpeg);
    return describe(state.errors.msg_code, state.message);
  };
  if (!state.is_created && !create(state)) return failure();
  if (!begin(state, encoded, wants_grey, eighths)) return failure();
  const ImageSize declared = {jpeg.image_width, jpeg.image_height};
  Status has_room;
  if (declared == header.size)
    has_room = out.reshape({jpeg.output_width, jpeg.output_height},
                           static_cast<std::uint32_t>(jpeg.out_color_components));
  else
    has_room = Error{Code::kDataLoss, "the JPEG is damaged: two of its headers differ"};
  if (!has_room) {
    jpeg_abort_decompress(&jpeg);
    return std::move(has_room).error();
  }
  const J_COLOR_SPACE space = jpeg.out_color_space;
  if (!read_rows(state, out.mutable_view())) return failure();
  if (space != JCS_CMYK) return space == JCS_RGB ? Layout::kRgb : Layout::kGrey;
  return jpeg.saw_Adobe_marker != 0 ? Layout::kInvertedCmyk : Layout::kCmyk;
}

}  // namespace headrace
