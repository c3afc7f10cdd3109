#include <cstdlib>

#include "headrace/artifact/artifact_entry.h"
#include "headrace/artifact/artifact_version.h"
#include "headrace/record/sealed_json.h"

namespace headrace {
namespace {

Result<std::vector<ArtifactEntry>> read_list(std::string_view text, std::size_t piece_bytes) {
  EntryListReader reader;
  for (std::size_t at = 0; at < text.size(); at += piece_bytes)
    HEADRACE_CHECK(reader.add(as_bytes(text.substr(at, piece_bytes))));
  return reader.finish();
}

// A list is the same in pieces of any size, and comes back as it was written.
void read_entries(std::string_view text) {
  const auto whole = read_list(text, text.size() + 1);
  const auto pieces = read_list(text, 3);
  if (whole.has_value() != pieces.has_value()) std::abort();
  if (!whole) return;
  const auto again = read_list(serialize_entries(*whole), 1 << 20);
  if (*whole != *pieces || !again || *again != *whole) std::abort();
}

// The input as it is, and as a document whose checksum is right.
void read_version(std::string_view text) {
  static_cast<void>(parse_artifact_version(as_bytes(text)));
  if (text.size() < 4 || !text.starts_with('{') || !text.ends_with("}\n")) return;
  const auto version = parse_artifact_version(as_bytes(seal_json(text)));
  if (version && !parse_artifact_version(as_bytes(serialize_artifact_version(*version)))) std::abort();
}

}  // namespace
}  // namespace headrace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  headrace::read_entries(text);
  headrace::read_version(text);
  return 0;
}
