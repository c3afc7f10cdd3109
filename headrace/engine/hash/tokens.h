#pragma once

/// \file Splits a text into tokens for `hash:N` (docs/formats/hash-encoder.md, "Tokens").

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/base/text.h"

namespace headrace {

enum class CharacterClass : std::uint8_t { kSeparator, kWord, kAlone };

/// The role of a character outside ASCII: part of a word, a separator, or (in scripts written without spaces)
/// a token of its own.
CharacterClass hash_character_class(char32_t code_point);

/// The largest token in bytes. Longer tokens are cut into pieces of at most this size.
inline constexpr std::size_t kMaxTokenBytes = 64;

/// Calls `token(std::string_view)` for each token, in order, with ASCII letters in lower case. The view is
/// valid during the call, and eight zero bytes follow it. Any bytes are allowed; ill-formed ones separate
/// tokens as U+FFFD does. Constant memory, linear time.
template <typename Function>
void for_each_hash_token(std::string_view text, Function&& token);

namespace hash_internal {
/// The character in lower case for ASCII letters and digits; 0 for every other byte.
inline constexpr auto kWordCharacters = [] {
  std::array<char, 256> table{};
  for (char c = '0'; c <= '9'; ++c) table[c] = c;
  for (char c = 'a'; c <= 'z'; ++c) table[c] = table[c - 'a' + 'A'] = c;
  return table;
}();

struct WordStart {
  std::uint64_t lower;  // the letters and digits before any other character, in lower case; then zeros
  std::size_t count;    // the number of those letters and digits
};

/// Classifies eight characters at once: the high bit of a byte in each mask marks a character of that class.
inline WordStart word_start(std::uint64_t characters) {
  constexpr std::uint64_t kEach = 0x0101010101010101U, kHigh = 0x80 * kEach;
  const auto at_least = [](std::uint64_t bytes, unsigned char c) { return bytes + (0x80 - c) * kEach; };
  const std::uint64_t ascii = characters & ~kHigh, folded = ascii | 0x20 * kEach;
  const std::uint64_t letters = at_least(folded, 'a') & ~at_least(folded, 'z' + 1) & ~characters & kHigh;
  const std::uint64_t digits = at_least(ascii, '0') & ~at_least(ascii, '9' + 1) & ~characters & kHigh;
  const std::uint64_t others = ~(letters | digits) & kHigh;
  const std::uint64_t before_others = ((others & -others) >> 7) - 1;
  return {(characters | letters >> 2) & before_others,
          static_cast<std::size_t>(std::countr_zero(others)) / 8};
}

/// A growing token, always followed by eight zero bytes. Each part is stored with the same width with which
/// the hash will load it, because a load that spans two stores waits for both.
class PaddedToken {
 public:
  std::size_t size() const { return size_; }
  std::string_view text() const { return {bytes_.data(), size_}; }
  void clear() { pad(size_ = 0); }
  void append(const WordStart& start) {
    std::memcpy(bytes_.data() + size_, &start.lower, 8);
    pad(size_ + 8);
    size_ += start.count;
  }
  void append(std::string_view character) {
    character.copy(bytes_.data() + size_, character.size());
    pad(size_ += character.size());
  }

 private:
  void pad(std::size_t at) { std::memset(bytes_.data() + at, 0, 8); }

  std::array<char, kMaxTokenBytes + 16> bytes_{};
  std::size_t size_ = 0;
};
}  // namespace hash_internal

template <typename Function>
void for_each_hash_token(std::string_view text, Function&& token) {
  hash_internal::PaddedToken word;
  const auto finish = [&] {
    if (word.size() > 0) token(word.text());
    word.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    if (text.size() - at >= 8) {
      const auto start =
          hash_internal::word_start(load_little_endian<std::uint64_t>(as_bytes(text).data() + at));
      if (word.size() + start.count <= kMaxTokenBytes) {
        word.append(start);
        at += start.count;
        if (start.count == 8) continue;
      }
    }
    const auto byte = static_cast<unsigned char>(text[at]);
    if (const char lower = hash_internal::kWordCharacters[byte]; lower != 0) {
      if (word.size() == kMaxTokenBytes) finish();
      word.append(std::string_view(&lower, 1));
      ++at;
      continue;
    }
    if (byte < 0x80) {
      finish();
      ++at;
      continue;
    }
    const Utf8Character character = first_utf8_character(text.substr(at));
    const CharacterClass kind = hash_character_class(character.code_point);
    if (kind != CharacterClass::kWord || word.size() + character.length > kMaxTokenBytes) finish();
    if (kind != CharacterClass::kSeparator) word.append(text.substr(at, character.length));
    if (kind == CharacterClass::kAlone) finish();
    at += character.length;
  }
  finish();
}

}  // namespace headrace
