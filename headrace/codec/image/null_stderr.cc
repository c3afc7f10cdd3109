// Replaces stderr in libjpeg and libpng; cmake/Dependencies.cmake says why.

#include <cstdio>

extern "C" std::FILE* const headrace_codec_image_stderr = nullptr;
