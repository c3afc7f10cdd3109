#include "headrace/cli/quoted_name.h"

#include "headrace/base/text.h"

namespace headrace {
namespace {

bool is_printable(std::string_view text) { return printable_line(text, text.size()) == text; }

// Writes a name as $'…', with octal digits for the bytes that are not printable.
std::string escaped(std::string_view name) {
  std::string out = "$'";
  while (!name.empty()) {
    const std::string_view character = name.substr(0, first_utf8_character(name).length);
    if (character == "'" || character == "\\") {
      out += concat("\\", character);
    } else if (is_printable(character)) {
      out += character;
    } else {
      for (const char c : character) {
        const auto byte = static_cast<unsigned char>(c);
        for (const int shift : {6, 3, 0}) {
          if (shift == 6) out += '\\';
          out += static_cast<char>('0' + (byte >> shift & 7));
        }
      }
    }
    name.remove_prefix(character.size());
  }
  return out + "'";
}

// Whether a shell takes the character literally, anywhere in a word.
bool is_plain(char c) {
  const bool is_ascii = static_cast<unsigned char>(c) < 0x80;
  const bool is_letter_or_digit = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return !is_ascii || is_letter_or_digit || std::string_view("_-./:@%+,=").find(c) != std::string_view::npos;
}

std::string single_quoted(std::string_view name) {
  std::string out = "'";
  for (const char c : name) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

}  // namespace

std::string quoted_name(std::string_view name, Quoting quoting) {
  if (!is_printable(name)) return escaped(name);
  bool is_word = !name.empty();
  for (const char c : name) is_word = is_word && is_plain(c);
  return is_word || quoting == Quoting::kUnsafe ? std::string(name) : single_quoted(name);
}

}  // namespace headrace
