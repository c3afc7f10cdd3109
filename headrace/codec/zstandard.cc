#include "headrace/codec/zstandard.h"

#include <zstd.h>

#include <new>

#include "headrace/base/text.h"

// Hooks that libzstd calls where a program defines them (its lib/common/zstd_trace.h); 0: nothing is traced.
// They are defined here so that libraries with Headrace in them want no such symbol from their process.
extern "C" {
unsigned long long ZSTD_trace_compress_begin(const ZSTD_CCtx* /*context*/) { return 0; }
void ZSTD_trace_compress_end(unsigned long long /*trace*/, const void* /*facts*/) {}
unsigned long long ZSTD_trace_decompress_begin(const ZSTD_DCtx* /*context*/) { return 0; }
void ZSTD_trace_decompress_end(unsigned long long /*trace*/, const void* /*facts*/) {}
}

namespace headrace {

namespace {

constexpr int kZstandardLevel = 3;

}  // namespace

Bytes compress_zstandard(BytesView data) {
  Bytes out(ZSTD_compressBound(data.size()));
  const std::size_t size = ZSTD_compress(out.data(), out.size(), data.data(), data.size(), kZstandardLevel);
  if (ZSTD_isError(size) != 0)
    throw std::bad_alloc();  // there is room for any data: memory is the one reason
  out.resize(size);
  return out;
}

Result<Bytes> decompress_zstandard(BytesView frame, std::uint64_t size_bytes) {
  Bytes out(size_bytes);
  const std::size_t size = ZSTD_decompress(out.data(), out.size(), frame.data(), frame.size());
  if (ZSTD_isError(size) != 0)
    return Error{Code::kDataLoss, concat("damaged Zstandard frame: ", ZSTD_getErrorName(size))};
  if (size != size_bytes)
    return Error{Code::kDataLoss, concat("a Zstandard frame of ", size, " bytes instead of ", size_bytes)};
  return out;
}

}  // namespace headrace
