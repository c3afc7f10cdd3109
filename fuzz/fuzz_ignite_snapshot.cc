#include <algorithm>
#include <cstdlib>

#include "headrace/base/crc32c.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/stream/ignite/snapshot.h"

namespace headrace::ignite {
namespace {

void check_snapshot(BytesView object) {
  const Location place{.store = make_memory_store("fuzz"), .key = "snapshot"};
  if (!place.store->write(place.key, object, {})) std::abort();
  const Result<Snapshot> snapshot = read_snapshot(place, {});
  if (!snapshot) return;
  for (const SnapshotSection& section : snapshot->sections)
    if (section.offset_bytes + section.size_bytes > object.size()) std::abort();
}

void check_section(BytesView bytes) {
  for (const std::uint64_t rows : {0, 1, 2, 3})
    if (const auto found = parse_section(bytes, rows); found && found->size() != rows) std::abort();
}

// The input with a trailer that fits: its last bytes are description and table.
Bytes sealed_snapshot(BytesView input) {
  const std::size_t description = std::min<std::size_t>(std::to_integer<std::size_t>(input[0]), input.size());
  const std::size_t sections =
      std::min<std::size_t>(std::to_integer<std::size_t>(input[0]) % 4, (input.size() - description) / 64);
  const std::size_t table = description + 64 * sections;
  Bytes object(input.begin(), input.end());
  append_little_endian(object, std::uint64_t{description});
  append_little_endian(object, std::uint64_t{sections});
  append_little_endian(object, crc32c(input.last(table)));
  append_little_endian(object, std::uint32_t{1});
  append(object, as_bytes(std::string_view("HRIGNIT\0", 8)));
  return object;
}

}  // namespace
}  // namespace headrace::ignite

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headrace;
  const BytesView input = std::as_bytes(std::span(data, size));
  if (input.empty()) return 0;
  ignite::check_snapshot(input);
  ignite::check_snapshot(ignite::sealed_snapshot(input));
  ignite::check_section(input);
  Bytes section(input.begin(), input.end());
  append_little_endian(section, crc32c(section));
  ignite::check_section(section);
  return 0;
}
