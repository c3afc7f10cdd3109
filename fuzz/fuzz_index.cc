#include <cstdlib>

#include "headrace/base/crc32c.h"
#include "headrace/record/index.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace headrace;
  const BytesView input = std::as_bytes(std::span(data, size));
  (void)ShardIndex::parse(input);
  Bytes sealed(input.begin(), input.end());
  append_little_endian(sealed, crc32c(sealed));
  const Result<ShardIndex> index = ShardIndex::parse(sealed);
  if (!index) return 0;
  const Bytes written = index->serialize();
  const Result<ShardIndex> again = ShardIndex::parse(written);
  if (!again || again->serialize() != written) std::abort();
  if (again->record_count() != index->record_count() || again->stream_bytes() != index->stream_bytes())
    std::abort();
  std::uint64_t records = 0;
  for (const ShardMember& member : index->members()) records += member.record_count;
  if (records != index->record_count()) std::abort();
  return 0;
}
