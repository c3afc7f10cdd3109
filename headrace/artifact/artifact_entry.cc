#include "headrace/artifact/artifact_entry.h"

#include <algorithm>
#include <charconv>

#include "headrace/base/json.h"
#include "headrace/base/key.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::size_t kLineLimitBytes = 16 << 10;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62;

std::uint32_t crc32c_from(const std::string& text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.size() != 8 || error != std::errc{} || end != text.data() + 8 || hex32(value) != text)
    throw JsonError("crc32c is not 8 hexadecimal digits");
  return value;
}

Result<ArtifactEntry> entry_from_json(const Json& from) {
  ArtifactEntry entry{.path = from.get<std::string>("path"),
                      .url = from.get_or("url", ""),
                      .version = from.get_or("version", ""),
                      .size_bytes = from.get<std::uint64_t>("size_bytes"),
                      .sha256 = from.get_or("sha256", "")};
  if (from.contains("crc32c")) entry.crc32c = crc32c_from(from.get<std::string>("crc32c"));
  HEADRACE_CHECK(check_key(entry.path));
  const bool needs_digest = !entry.is_reference() || !entry.sha256.empty();
  if (needs_digest && !is_sha256_hex(entry.sha256)) throw JsonError("sha256 is not 64 hexadecimal digits");
  if (entry.size_bytes >= kMostBytes) throw JsonError("size_bytes is too large");
  return entry;
}

Error damaged(std::size_t line, std::string_view why) {
  return {Code::kDataLoss, concat("line ", line, " of a list of entries ", why)};
}

}  // namespace

bool is_sha256_hex(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string serialize_entries(const std::vector<ArtifactEntry>& entries) {
  std::string out;
  for (const ArtifactEntry& entry : entries) {
    Json line = {{"path", entry.path}, {"size_bytes", entry.size_bytes}};
    if (!entry.sha256.empty()) line["sha256"] = entry.sha256;
    if (!entry.url.empty()) line["url"] = entry.url;
    if (!entry.version.empty()) line["version"] = entry.version;
    if (entry.crc32c) line["crc32c"] = hex32(*entry.crc32c);
    out += line.dump();
    out += '\n';
  }
  return out;
}

Status EntryListReader::add_line(std::string_view line) {
  const std::size_t number = entries_.size() + 1;
  if (line.size() > kLineLimitBytes) return damaged(number, "is too long");
  if (number > kMostArtifactEntries)
    return Error{Code::kResourceExhausted,
                 concat("a list of entries has more than ", kMostArtifactEntries, " entries")};
  auto entry = read_json(line, concat("line ", number, " of a list of entries is damaged"), entry_from_json);
  if (!entry) return Error{Code::kDataLoss, entry.error().message};
  if (!entries_.empty() && entries_.back().path >= entry->path) return damaged(number, "is out of order");
  size_bytes_ += entry->size_bytes;
  if (size_bytes_ >= kMostBytes) return damaged(number, "makes the sum of the sizes too large");
  entries_.push_back(*std::move(entry));
  return {};
}

Status EntryListReader::add(BytesView piece) {
  std::string_view text = as_text(piece);
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    line_ += text.substr(0, end);
    HEADRACE_CHECK(add_line(line_));
    line_.clear();
    text.remove_prefix(end + 1);
  }
  line_ += text;
  return line_.size() > kLineLimitBytes ? Status(damaged(entries_.size() + 1, "is too long")) : Status{};
}

Result<std::vector<ArtifactEntry>> EntryListReader::finish() {
  if (!line_.empty()) return damaged(entries_.size() + 1, "is cut off");
  return std::move(entries_);
}

}  // namespace headrace
