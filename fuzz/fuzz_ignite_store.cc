#include <cstdlib>

#include "headrace/base/crc32c.h"
#include "headrace/net/ignite/message.h"
#include "headrace/store/ignite/ignite_entries.h"

namespace {

using namespace headrace;

// The right checksum behind the bytes, so that what lies behind the check is reached.
Bytes sealed(BytesView content) {
  Bytes out(content.begin(), content.end());
  append_little_endian(out, crc32c(out));
  return ignite::encode_bytes(out);
}

void check_head(BytesView entry) {
  const auto head = decode_head(entry);
  if (!head) return;
  if (!head->is_claim && head->chunk_bytes == 0 && head->content.size() != head->size_bytes) std::abort();
  if (head->chunk_bytes > 0 && head->size_bytes > std::uint64_t{head->chunks()} * head->chunk_bytes)
    std::abort();
}

void check_note(BytesView entry) {
  if (const auto note = decode_note(entry)) {
    const auto again = decode_note(encode_note(*note));
    if (!again || again->key != note->key || again->chunks != note->chunks) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const BytesView bytes(reinterpret_cast<const std::byte*>(data), size);
  const Bytes with_checksum = sealed(bytes);
  for (const BytesView entry : {bytes, BytesView(with_checksum)}) {
    check_head(entry);
    check_note(entry);
  }
  if (size > 0) {
    const auto content = chunk_content(bytes.subspan(1), data[0]);
    if (content && content->size() != data[0]) std::abort();
  }
  if (const auto key = object_key(bytes); key && key->size() > size) std::abort();
  return 0;
}
