#pragma once

/// \file How `hash:N` cuts a text into tokens (docs/formats/hash-encoder.md, "Tokens").

#include <array>
#include <cstdint>
#include <string_view>

#include "headrace/base/text.h"

namespace headrace {

enum class CharacterClass : std::uint8_t { kSeparator, kWord, kAlone };

/// What a character outside ASCII does: part of a word, a separator, or (scripts written without spaces) a
/// token of its own.
CharacterClass hash_character_class(char32_t code_point);

/// Longer tokens are cut into pieces of at most this many bytes.
inline constexpr std::size_t kMaxTokenBytes = 64;

/// Calls `token(std::string_view)` for each token, lower-cased, in order; the view is valid during the call.
/// Constant memory, linear time; any bytes are allowed, ill-formed ones separate like U+FFFD.
template <typename Function>
void for_each_hash_token(std::string_view text, Function&& token);

namespace hash_internal {
/// The lower-cased character for ASCII letters and digits, else 0.
inline constexpr auto kWordCharacters = [] {
  std::array<char, 256> table{};
  for (char c = '0'; c <= '9'; ++c) table[c] = c;
  for (char c = 'a'; c <= 'z'; ++c) table[c] = table[c - 'a' + 'A'] = c;
  return table;
}();
}  // namespace hash_internal

template <typename Function>
void for_each_hash_token(std::string_view text, Function&& token) {
  std::array<char, kMaxTokenBytes> word;
  std::size_t size = 0;
  const auto finish = [&] {
    if (size > 0) token(std::string_view(word.data(), size));
    size = 0;
  };
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (const char lower = hash_internal::kWordCharacters[byte]; lower != 0) {
      if (size == word.size()) finish();
      word[size++] = lower;
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
    if (kind != CharacterClass::kWord || size + character.length > word.size()) finish();
    if (kind != CharacterClass::kSeparator) {
      text.copy(word.data() + size, character.length, at);
      size += character.length;
    }
    if (kind == CharacterClass::kAlone) finish();
    at += character.length;
  }
  finish();
}

}  // namespace headrace
