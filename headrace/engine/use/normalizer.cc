#include "headrace/engine/use/normalizer.h"

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::string_view kSpaceSymbol = "\xe2\x96\x81";  // U+2581

// A unit of a darts-clone trie: the label in bits 0–7 (bit 31 is set if the unit holds a value instead), bit
// 8 "a key ends here", and the offset above it.
bool has_label(std::uint32_t unit, unsigned char label) { return (unit & 0x800000ffU) == label; }
bool ends_key(std::uint32_t unit) { return (unit & 0x100U) != 0; }
std::uint32_t offset(std::uint32_t unit) { return (unit >> 10) << ((unit & 0x200U) >> 6); }

}  // namespace

Result<Normalizer> Normalizer::create(BytesView character_map) {
  Normalizer normalizer;
  if (character_map.empty()) return normalizer;
  const std::size_t trie_bytes =
      character_map.size() < 4 ? 0 : load_little_endian<std::uint32_t>(character_map.data());
  if (trie_bytes == 0 || trie_bytes % 4 != 0 || trie_bytes > character_map.size() - 4) {
    return Error{Code::kDataLoss, "SentencePiece model: the normaliser's map has a bad size"};
  }
  normalizer.units_.resize(trie_bytes / 4);
  std::memcpy(normalizer.units_.data(), character_map.data() + 4, trie_bytes);
  normalizer.replacements_ = as_text(character_map.subspan(4 + trie_bytes));
  if (!normalizer.replacements_.ends_with('\0') || !is_valid_utf8(normalizer.replacements_)) {
    return Error{Code::kDataLoss, "SentencePiece model: the normaliser's texts are malformed"};
  }
  return normalizer;
}

// The longest key at the start of `text`. Without such a key, the first character, unchanged.
Normalizer::Match Normalizer::match(std::string_view text) const {
  Match best{{}, 0};
  std::uint32_t node = units_.empty() ? 0 : offset(units_[0]);
  for (std::size_t i = 0; i < text.size() && !units_.empty(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    node ^= byte;
    if (node >= units_.size() || !has_label(units_[node], byte)) break;
    const std::uint32_t unit = units_[node];
    node ^= offset(unit);
    if (!ends_key(unit) || node >= units_.size()) continue;
    const std::size_t value = units_[node] & 0x7fffffffU;
    best = {{}, i + 1};
    if (value < replacements_.size())
      best.replacement = replacements_.c_str() + value;
    else
      best.length = 0;
  }
  if (best.length > 0) return best;
  const std::size_t length = first_utf8_character(text).length;
  return {text.substr(0, length), length};
}

void Normalizer::append(Cursor& cursor, std::string_view normalized, std::string& out) {
  while (!normalized.empty()) {
    const bool space = normalized.front() == ' ';
    const bool symbol = normalized.starts_with(kSpaceSymbol);
    if (space || symbol) {
      ++cursor.pending_spaces;
      normalized.remove_prefix(space ? 1 : kSpaceSymbol.size());
    } else {
      for (; cursor.pending_spaces > 0; --cursor.pending_spaces) out += kSpaceSymbol;
      const std::size_t length = first_utf8_character(normalized).length;
      out += normalized.substr(0, length);
      normalized.remove_prefix(length);
    }
  }
}

void Normalizer::advance(Cursor& cursor, std::size_t size, std::string& out) const {
  while (!cursor.text.empty() && out.size() < size) {
    Match next = match(cursor.text);
    cursor.text.remove_prefix(next.length);
    if (!cursor.started && next.replacement == " ") continue;
    if (!cursor.started) cursor.pending_spaces = 1;
    cursor.started = true;
    while (cursor.after_space && next.replacement.starts_with(' ')) next.replacement.remove_prefix(1);
    if (next.replacement.empty()) continue;
    cursor.after_space = next.replacement.back() == ' ';
    append(cursor, next.replacement, out);
  }
}

}  // namespace headrace
