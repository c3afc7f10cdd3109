#include "headrace/codec/zstandard.h"

#include <zstd.h>

#include <new>

#include "headrace/base/text.h"

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
