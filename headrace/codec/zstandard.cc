#include "headrace/codec/zstandard.h"

#include <zstd.h>

#include <memory>
#include <new>

#include "headrace/base/text.h"

// libzstd calls these hooks if a program defines them (its lib/common/zstd_trace.h). Returning 0 disables
// tracing. They are defined here so that libraries that contain Headrace do not need these symbols from their
// process.
extern "C" {
unsigned long long ZSTD_trace_compress_begin(const ZSTD_CCtx* /*context*/) { return 0; }
void ZSTD_trace_compress_end(unsigned long long /*trace*/, const void* /*facts*/) {}
unsigned long long ZSTD_trace_decompress_begin(const ZSTD_DCtx* /*context*/) { return 0; }
void ZSTD_trace_decompress_end(unsigned long long /*trace*/, const void* /*facts*/) {}
}

namespace headrace {

namespace {

constexpr int kZstandardLevel = 3;

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// Each thread keeps a context of each kind, because making a context costs more than a small frame.

ZSTD_CCtx* compression_context() {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  if (!context) throw std::bad_alloc();
  return context.get();
}

ZSTD_DCtx* decompression_context() {
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  if (!context) throw std::bad_alloc();
  return context.get();
}

}  // namespace

Bytes compress_zstandard(BytesView data) {
  Bytes out(ZSTD_compressBound(data.size()));
  const std::size_t size = ZSTD_compressCCtx(compression_context(), out.data(), out.size(), data.data(),
                                             data.size(), kZstandardLevel);
  if (ZSTD_isError(size) != 0)
    throw std::bad_alloc();  // the target has room for any data, so lack of memory is the only possible error
  out.resize(size);
  return out;
}

Status decompress_zstandard(BytesView frame, MutableBytesView target) {
  const std::size_t size =
      ZSTD_decompressDCtx(decompression_context(), target.data(), target.size(), frame.data(), frame.size());
  if (ZSTD_isError(size) != 0)
    return Error{Code::kDataLoss, concat("damaged Zstandard frame: ", ZSTD_getErrorName(size))};
  if (size != target.size())
    return Error{Code::kDataLoss,
                 concat("a Zstandard frame has ", size, " bytes instead of ", target.size())};
  return {};
}

Result<Bytes> decompress_zstandard(BytesView frame, std::uint64_t size_bytes) {
  Bytes out(size_bytes);
  HEADRACE_CHECK(decompress_zstandard(frame, MutableBytesView(out)));
  return out;
}

}  // namespace headrace
