#include <algorithm>
#include <cstdlib>

#include "headrace/codec/deflate.h"

namespace {

constexpr std::uint64_t kLimitBytes = 1 << 20;

headrace::Result<headrace::Bytes> inflate_stream(headrace::BytesView input,
                                                 headrace::Compression compression) {
  headrace::Inflater inflater(compression, kLimitBytes);
  headrace::Bytes out, piece(1 + input.size() % 5000);
  for (std::size_t available = std::min<std::size_t>(input.size(), 1 + input.size() % 7);;) {
    HEADRACE_TRY(const headrace::InflateStep step, inflater.step(input.first(available), piece));
    headrace::append(out, headrace::BytesView(piece).first(step.produced_bytes));
    input = input.subspan(step.consumed_bytes);
    available -= step.consumed_bytes;
    if (step.produced_bytes == piece.size()) continue;
    if (available != 0) std::abort();
    if (input.empty()) break;
    available = std::min<std::size_t>(input.size(), 100);
  }
  HEADRACE_CHECK(inflater.finish());
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace headrace;
  const BytesView input = std::as_bytes(std::span(data, size));
  const Compression compression = sniff_compression(input);
  if (compression == Compression::kNone) return 0;
  Bytes whole;
  const Status status = BufferInflater().all(input, compression, whole, kLimitBytes);
  if (whole.size() > kLimitBytes || (!status && !whole.empty())) std::abort();
  const Result<Bytes> streamed = inflate_stream(input, compression);
  if (status && (!streamed || *streamed != whole)) std::abort();
  return 0;
}
