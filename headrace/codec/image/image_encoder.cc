#include "headrace/codec/image/image_encoder.h"

#include <cstdio>
// libjpeg's headers need <cstdio> before them.
#include <jpeglib.h>
#include <png.h>
#include <zlib.h>

#include "headrace/base/text.h"

#define HEADRACE_QUOTE_INNER(text) #text
#define HEADRACE_QUOTE(text) HEADRACE_QUOTE_INNER(text)

namespace headrace {

std::string image_encoder_fingerprint() {
  return concat("libjpeg-turbo " HEADRACE_QUOTE(LIBJPEG_TURBO_VERSION) ", libpng ",
                std::string_view(png_get_libpng_ver(nullptr)), ", zlib ", std::string_view(zlibVersion()));
}

}  // namespace headrace
