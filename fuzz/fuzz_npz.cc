#include <cstdlib>

#include "headrace/engine/use/npz.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace headrace;
  constexpr std::uint64_t kMaxTotalBytes = 1 << 20;
  const BytesView bytes = std::as_bytes(std::span(data, size));
  // An array on its own: random changes rarely leave a zip's checksum right.
  if (const auto array = parse_npy({bytes.begin(), bytes.end()})) {
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : array->shape) elements *= extent;
    if (array->data().size() > size || (elements != 0 && array->data().size() % elements != 0)) std::abort();
  }
  const auto file = NpzFile::open(bytes, kMaxTotalBytes);
  if (!file) return 0;
  std::uint64_t total = 0;
  for (const std::string& name : file->names()) {
    const auto array = file->read(name);
    if (array) total += array->file.size();
  }
  if (total > kMaxTotalBytes) std::abort();
  return 0;
}
